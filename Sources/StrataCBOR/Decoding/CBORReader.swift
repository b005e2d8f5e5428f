/// A document that was checked as a whole, with an index of its arrays and maps.
///
/// One pass over the bytes (`scan`) finds every fault of form and breaks of limits, and notes for each container where
/// it ends and for each map where its pairs lie, sorted by key. What is read later relies on it: every offset in the
/// index is that of an item which is whole. Containers get a number in the order in which they begin; the number of the
/// first container at or behind an item goes along with the item's offset, so that nothing has to be searched.
@safe
final class CBORReader {
    /// An array or a map.
    struct Container {
        /// Where the head stands, behind any tags.
        var start: UInt32
        /// Where the first element or key stands.
        var content: UInt32
        /// Where the next item stands.
        var end: UInt32
        /// The number of the first container behind this one's content.
        var following: UInt32
        /// The elements or pairs.
        var count: UInt32
        /// Of a map the index of its first entry, of an array where the element stands that was read last.
        var position: UInt32
        /// Of a map where the next key is likely to be, counted from the first entry; of an array the index of the
        /// element that was read last.
        var cursor: UInt32
        /// Of a map whether any key is an integer, of an array the container number of the element that was read last.
        var note: UInt32

        /// The indices of a map's entries.
        var pairs: Range<Int> { Int(position)..<Int(position) + Int(count) }
        /// Whether any of a map's keys is an integer.
        var hasIntegerKeys: Bool { note != 0 }
    }

    /// One pair of a map.
    struct Entry {
        /// The beginning of the canonical key, see ``CBORKeyPrefix``.
        var prefix: UInt64
        /// Where the canonical key stands: in the document, or behind its end in `rewrittenKeys`.
        var key: UInt32
        /// Where the value stands.
        var value: UInt32
        /// The number of the first container at or behind the value.
        var container: UInt32

        var isText: Bool { UInt8(prefix >> 56) & CBORMajor.mask == CBORMajor.text }
    }

    /// An item: where it stands, and the number of the first container at or behind it.
    struct Place {
        var offset: Int
        var container: Int
    }

    /// All that changes while reading.
    @safe
    private struct State {
        var base: UnsafeRawPointer
        var containers: CBORStack<Container>
        var entries: CBORStack<Entry>
        var openEntries: CBORStack<Entry>
        var rewrittenKeys = CBOROutput()
        var elementCount = 0
        var copy: UnsafeMutableRawPointer?
    }

    // Behind a pointer, since every access of a class's own variable is checked for exclusivity at run time. No access
    // lasts while a value's code runs, and a reader belongs to the one call that made it.
    private let state: UnsafeMutablePointer<State>
    let count: Int
    let decoder: CBORDecoder
    let depthLimit: Int
    let elementLimit: Int
    let stringLimit: Int

    /// A reader of borrowed bytes, which have to stay valid until ``finish(isShared:)``.
    init(_ decoder: CBORDecoder, _ bytes: UnsafeRawBufferPointer) throws(CBORError) {
        let limits = decoder.limits
        guard bytes.count <= limits.usableBytes else {
            throw CBORError(.tooLarge, at: 0, "The document is longer than the limit of \(limits.usableBytes) bytes.")
        }
        guard let start = bytes.baseAddress, bytes.count > 0 else {
            throw CBORError(.truncated, at: 0, "The document is empty.")
        }
        self.decoder = decoder
        depthLimit = CBORLimits.usableDepth(limits.depth)
        elementLimit = max(limits.elements, 0)
        stringLimit = max(limits.stringBytes, 0)
        count = bytes.count
        unsafe state = CBORReader.makeState(start)
    }

    deinit {
        containers.release()
        entries.release()
        openEntries.release()
        rewrittenKeys.release()
        unsafe state.pointee.copy?.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe UnsafeMutableRawPointer(state).deallocate()
    }

    /// Makes the state, with room for some containers and entries in the same block.
    ///
    /// A small document is indexed in two blocks, this and one for the open entries, both of a size that allocators
    /// keep at hand.
    private static func makeState(_ base: UnsafeRawPointer) -> UnsafeMutablePointer<State> {
        let size = 1000
        let containerStart = MemoryLayout<State>.stride
        let entryStart = containerStart + 8 * MemoryLayout<Container>.stride
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        let state = unsafe block.bindMemory(to: State.self, capacity: 1)
        unsafe state.initialize(
            to: State(
                base: base,
                containers: CBORStack(
                    lent: UnsafeMutableRawBufferPointer(
                        start: block + containerStart,
                        count: entryStart - containerStart
                    )
                ),
                entries: CBORStack(
                    lent: UnsafeMutableRawBufferPointer(start: block + entryStart, count: size - entryStart)
                ),
                openEntries: CBORStack(capacity: size / MemoryLayout<Entry>.stride)
            )
        )
        return unsafe state
    }

    /// Lets go of the borrowed bytes, or copies them if a decoder or a container was kept.
    func finish(isShared: Bool) {
        guard isShared else { return }
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
        unsafe bytes.copyMemory(from: base, byteCount: count)
        unsafe state.pointee.copy = bytes
        unsafe state.pointee.base = UnsafeRawPointer(bytes)
    }

    // MARK: State

    /// The first byte of the document.
    @inline(__always)
    var base: UnsafeRawPointer { unsafe state.pointee.base }

    /// The arrays and maps in the order in which they begin.
    var containers: CBORStack<Container> {
        @inline(__always) get { unsafe state.pointee.containers }
        @inline(__always) _modify { yield unsafe &state.pointee.containers }
    }

    /// The pairs of all maps, those of one map together and sorted.
    var entries: CBORStack<Entry> {
        @inline(__always) get { unsafe state.pointee.entries }
        @inline(__always) _modify { yield unsafe &state.pointee.entries }
    }

    /// The pairs of the maps that are still being scanned.
    var openEntries: CBORStack<Entry> {
        @inline(__always) get { unsafe state.pointee.openEntries }
        @inline(__always) _modify { yield unsafe &state.pointee.openEntries }
    }

    /// How many elements and pairs the containers have that were met so far.
    var elementCount: Int {
        @inline(__always) get { unsafe state.pointee.elementCount }
        @inline(__always) _modify { yield unsafe &state.pointee.elementCount }
    }

    /// Canonical forms of keys that stand in the document in another form.
    var rewrittenKeys: CBOROutput {
        @inline(__always) get { unsafe state.pointee.rewrittenKeys }
        @inline(__always) _modify { yield unsafe &state.pointee.rewrittenKeys }
    }

    // MARK: Bytes

    /// The byte at an offset inside the document.
    @inline(__always)
    func byte(_ offset: Int) -> UInt8 {
        unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// A big-endian number at an offset, all of it inside the document.
    @inline(__always)
    func number<Number: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Number.Type) -> Number {
        unsafe Number(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// The major type of the item at an offset.
    @inline(__always)
    func major(_ offset: Int) -> UInt8 {
        byte(offset) & CBORMajor.mask
    }

    /// The argument of the head at an offset.
    @inline(__always)
    func argument(_ offset: Int) -> UInt64 {
        unsafe CBORHead.argument(base + offset)
    }

    // MARK: Items

    /// The item inside the tags at a place, or the place itself where there are none.
    @inline(__always)
    func untagged(_ place: Place) -> Place {
        var place = place
        while major(place.offset) == CBORMajor.tag {
            place.offset &+= CBORHead.length(initial: byte(place.offset))
        }
        return place
    }

    /// The place behind an item.
    func following(_ place: Place) -> Place {
        let place = untagged(place)
        let initial = byte(place.offset)
        switch initial & CBORMajor.mask {
        case CBORMajor.array, CBORMajor.map:
            let container = unsafe containers.base[place.container]
            return Place(offset: Int(container.end), container: Int(container.following))
        case CBORMajor.bytes, CBORMajor.text:
            return Place(offset: endOfString(place.offset, initial), container: place.container)
        default:
            return Place(offset: place.offset &+ CBORHead.length(initial: initial), container: place.container)
        }
    }

    /// The offset behind a string.
    private func endOfString(_ offset: Int, _ initial: UInt8) -> Int {
        guard initial & 0x1F == 31 else {
            return offset &+ CBORHead.length(initial: initial) &+ Int(truncatingIfNeeded: argument(offset))
        }
        var offset = offset &+ 1
        while byte(offset) != CBORByte.break { offset = endOfString(offset, byte(offset)) }
        return offset &+ 1
    }

    /// Whether the item at a place is null or undefined.
    @inline(__always)
    func isNull(_ place: Place) -> Bool {
        let initial = byte(untagged(place).offset)
        return initial == CBORByte.null || initial == CBORByte.undefined
    }
}
