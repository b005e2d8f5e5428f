/// What one call of an encoder writes: the bytes so far, and a frame for each value that is under way.
///
/// Containers of `Codable` have no end; a value's containers end when its `encode(to:)` returns. So a frame is opened
/// around each `encode(to:)`, a container writes straight into the output behind one reserved byte, and closing the
/// frame puts a map into order and writes the count into the reserved byte. Only a nested container or a super-encoder,
/// which may be filled later and in any order, gets a writer of its own, whose bytes are put in their place when the
/// frame around it closes.
@safe
final class CBORWriter {
    /// The state of one value under way.
    struct Frame {
        enum Form: UInt8 {
            case empty, value, array, map
        }

        /// Where the value begins.
        var start: Int
        /// The elements or pairs so far.
        var count: Int
        /// The index of the map's first entry.
        var firstEntry: Int
        /// The index of the first writer that waits for this frame to close.
        var firstChild: Int
        /// Tells a frame from an older one at the same depth.
        var serial: UInt32
        /// The arrays, maps and tags around the value.
        var level: Int32
        var form: Form
        /// Whether the map's keys came in their order so far.
        var isOrdered: Bool
    }

    /// One pair of an open map.
    struct Entry {
        var prefix: UInt64
        var start: Int
        /// The length of the encoded pair, known when the frame closes.
        var length: Int
    }

    /// A writer whose bytes belong at a place in this one's.
    struct Child {
        var place: Int
        var writer: CBORWriter
    }

    /// Where in its parent a child's value stands.
    struct Origin {
        var slot: CBORSlot
        /// The index of the parent's entry or element.
        var index: Int
    }

    /// All that changes while writing.
    private struct State {
        var output: CBOROutput
        var frames: CBORStack<Frame>
        var entries: CBORStack<Entry>
        var children: [Child] = []
        var failure: (any Error)?
        var lastSerial: UInt32 = 0
        var calls: Int32 = 0
    }

    // Behind a pointer, since every access of a class's own variable is checked for exclusivity at run time, which took
    // two fifths of an encode. No access lasts while a value's code runs, and a writer belongs to the one call that
    // made it.
    private let state: UnsafeMutablePointer<State>
    let encoder: CBOREncoder
    let usesIntegerKeys: Bool
    let levelLimit: Int32
    let origin: Origin?

    /// A writer of a document.
    init(_ encoder: CBOREncoder) {
        self.encoder = encoder
        usesIntegerKeys = encoder.usesIntegerKeys
        levelLimit = Int32(CBORLimits.usableDepth(encoder.depthLimit))
        origin = nil
        unsafe state = CBORWriter.makeState(calls: 0)
    }

    /// A writer for a value inside another one's map or array.
    init(for origin: Origin) {
        let parent = origin.slot.writer
        encoder = parent.encoder
        usesIntegerKeys = parent.usesIntegerKeys
        levelLimit = parent.levelLimit
        self.origin = origin
        unsafe state = CBORWriter.makeState(calls: parent.calls)
    }

    deinit {
        end()
        unsafe state.deinitialize(count: 1)
        unsafe UnsafeMutableRawPointer(state).deallocate()
    }

    /// Makes the state, with room for some frames and entries in the same block.
    ///
    /// A small value is encoded in two blocks, this and the output's, both of a size that allocators keep at hand.
    private static func makeState(calls: Int32) -> UnsafeMutablePointer<State> {
        let size = 1000
        let frameStart = MemoryLayout<State>.stride
        let entryStart = frameStart + 6 * MemoryLayout<Frame>.stride
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        let state = unsafe block.bindMemory(to: State.self, capacity: 1)
        unsafe state.initialize(
            to: State(
                output: CBOROutput(capacity: size),
                frames: CBORStack(
                    lent: UnsafeMutableRawBufferPointer(start: block + frameStart, count: entryStart - frameStart)
                ),
                entries: CBORStack(
                    lent: UnsafeMutableRawBufferPointer(start: block + entryStart, count: size - entryStart)
                ),
                calls: calls
            )
        )
        return unsafe state
    }

    /// Ends the writer: a container that was kept is closed.
    func end() {
        output.release()
        frames.release()
        entries.release()
        endChildren(from: 0)
    }

    /// Drops nested writers, and theirs: each knows its parent, so that only this breaks the cycle.
    private func endChildren(from first: Int) {
        guard children.count > first else { return }
        for child in children[first...] { child.writer.end() }
        children.removeSubrange(first...)
    }

    // MARK: State

    /// The bytes so far.
    var output: CBOROutput {
        @inline(__always) get { unsafe state.pointee.output }
        @inline(__always) _modify { yield unsafe &state.pointee.output }
    }

    /// The values under way, the innermost last.
    var frames: CBORStack<Frame> {
        @inline(__always) get { unsafe state.pointee.frames }
        @inline(__always) _modify { yield unsafe &state.pointee.frames }
    }

    /// The pairs of all open maps.
    var entries: CBORStack<Entry> {
        @inline(__always) get { unsafe state.pointee.entries }
        @inline(__always) _modify { yield unsafe &state.pointee.entries }
    }

    /// The nested writers of all open frames.
    var children: [Child] {
        @inline(__always) get { unsafe state.pointee.children }
        @inline(__always) _modify { yield unsafe &state.pointee.children }
    }

    /// What a call that cannot throw met; thrown as soon as one can.
    var failure: (any Error)? {
        @inline(__always) get { unsafe state.pointee.failure }
        @inline(__always) _modify { yield unsafe &state.pointee.failure }
    }

    /// The serial of the newest frame.
    private var lastSerial: UInt32 {
        @inline(__always) get { unsafe state.pointee.lastSerial }
        @inline(__always) _modify { yield unsafe &state.pointee.lastSerial }
    }

    /// How many calls of `encode(to:)` are under way.
    private var calls: Int32 {
        @inline(__always) get { unsafe state.pointee.calls }
        @inline(__always) _modify { yield unsafe &state.pointee.calls }
    }

    // MARK: Frames

    /// Opens a frame for a value.
    func open(level: Int32) -> CBORSlot {
        lastSerial &+= 1
        frames.append(
            Frame(
                start: output.count,
                count: 0,
                firstEntry: entries.count,
                firstChild: children.count,
                serial: lastSerial,
                level: level,
                form: .empty,
                isOrdered: true
            )
        )
        return CBORSlot(writer: self, index: Int32(truncatingIfNeeded: frames.count - 1), serial: lastSerial)
    }

    /// Whether a slot is the value under way: not one that ended, nor one with another value open inside.
    @inline(__always)
    func isCurrent(_ slot: CBORSlot) -> Bool {
        unsafe Int(slot.index) == frames.count &- 1 && frames.base[Int(slot.index)].serial == slot.serial
    }

    /// The frame on top, while there is one.
    @inline(__always)
    var top: UnsafeMutablePointer<Frame> {
        unsafe frames.base + (frames.count &- 1)
    }

    /// Closes the frame on top.
    ///
    /// A value that encoded nothing becomes an empty map, as other coders make it.
    func close() {
        if unsafe children.count > top.pointee.firstChild { placeChildren() }
        switch unsafe top.pointee.form {
        case .value:
            break
        case .empty:
            output.byte(CBORMajor.map)
        case .array:
            unsafe output.patchHead(
                at: top.pointee.start,
                CBORMajor.array,
                UInt64(truncatingIfNeeded: top.pointee.count)
            )
        case .map:
            if unsafe !top.pointee.isOrdered { orderEntries() }
            unsafe output.patchHead(at: top.pointee.start, CBORMajor.map, UInt64(truncatingIfNeeded: top.pointee.count))
        }
        unsafe entries.truncate(to: top.pointee.firstEntry)
        frames.truncate(to: frames.count - 1)
    }

    /// Drops a frame and all that was written in it.
    func discard(_ slot: CBORSlot) {
        frames.truncate(to: Int(slot.index) + 1)
        reset()
        frames.truncate(to: Int(slot.index))
    }

    /// Takes the frame on top back to its beginning.
    func reset() {
        unsafe output.truncate(to: top.pointee.start)
        unsafe entries.truncate(to: top.pointee.firstEntry)
        unsafe endChildren(from: top.pointee.firstChild)
        unsafe top.pointee.count = 0
        unsafe top.pointee.form = .empty
        unsafe top.pointee.isOrdered = true
    }

    // MARK: Values that encode themselves

    /// Writes a value through its own `encode(to:)`.
    ///
    /// - Returns: Whether it encoded anything.
    @discardableResult
    func encodeByItself(_ value: some Encodable, level: Int32) throws -> Bool {
        let slot = open(level: level)
        do {
            try call(value, with: slot)
        } catch {
            discard(slot)
            throw error
        }
        let isEmpty = unsafe top.pointee.form == .empty
        close()
        return !isEmpty
    }

    /// Calls `encode(to:)`, unless calls are nested so deep that the stack is in danger: a class instance may hold
    /// itself.
    func call(_ value: some Encodable, with slot: CBORSlot) throws {
        // Wrappers that add no level of their own (an optional, a raw value) may stand around each container.
        guard calls < levelLimit &* 3 else { throw tooDeep() }
        calls &+= 1
        defer { calls &-= 1 }
        try value.encode(to: slot)
        if let failure { throw failure }
    }
}
