#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Reads a file of hibernated entries, some at a time.
///
/// Damaged records are passed over, and a file that was cut ends there. Memory is allocated for bytes that the file
/// has, never for a length that it claims.
final class HibernationReader: Sendable {
    private struct State: ~Copyable {
        var file: HibernationFile
        var buffer: [UInt8] = []
        /// Where the next frame begins.
        var offset = 0
        var isAtEnd = false
        var isWhole = false
        var damaged = 0
        var seen = 0
    }

    private static let chunk = 1 << 20

    let header: HibernationHeader
    private let path: String
    private let state: Locked<State>

    /// Opens a file; blocks.
    ///
    /// - Returns: `nil` when there is none.
    /// - Throws: ``HibernationError``.
    init?(_ path: String) throws(HibernationError) {
        guard let file = try HibernationFile(reading: path) else { return nil }
        var bytes: [UInt8] = []
        while bytes.count < HibernationHeader.size {
            let more = try file.read(HibernationHeader.size - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        header = try HibernationHeader(bytes)
        self.path = path
        state = Locked(State(file: file))
    }

    /// Records that are damaged.
    var damaged: Int { state.withLock { $0.damaged } }

    /// Whether nothing more can be read.
    var isAtEnd: Bool { state.withLock { $0.isAtEnd } }

    /// Whether the end was found.
    var isWhole: Bool { state.withLock { $0.isWhole } }

    /// How many records are left, as far as the file tells.
    var rest: Int {
        state.withLock { state in
            state.isAtEnd ? 0 : max(Int(clamping: header.planned) - state.seen, 0)
        }
    }

    /// The next records, `most` at the most; none at the end, and where many in a row are damaged.
    ///
    /// Blocks.
    ///
    /// - Throws: ``HibernationError/Code/cannotRead``.
    func next(_ most: Int) throws(HibernationError) -> [HibernationRecord] {
        let identity = header.identity
        return try state.withLock { (state) throws(HibernationError) in
            var records: [HibernationRecord] = []
            var size = 0
            while records.count < most, size < HibernationRecord.longest,
                let (body, checksum) = try Self.frame(&state, identity)
            {
                state.seen += 1
                size += body.count
                if let record = HibernationRecord(body, checksum: checksum, identity) {
                    records.append(record)
                } else {
                    state.damaged += 1
                }
            }
            return records
        }
    }

    /// Removes the name of the file, if it still stands for this one; blocks.
    ///
    /// - Throws: ``HibernationError`` when it stays: its entries would come back with the next process.
    func remove() throws(HibernationError) {
        let isGone = state.withLock { state in
            if state.file.isAt(path) { unsafe unlink(path) }
            return !state.file.isAt(path, followingLinks: true)
        }
        guard isGone else {
            throw HibernationError(.cannotWrite, "the file cannot be removed: the next process would use it again")
        }
    }

    /// The next frame; `nil` at the end, and where what follows cannot be one.
    private static func frame(
        _ state: inout State,
        _ identity: UInt64
    ) throws(HibernationError) -> (body: [UInt8], checksum: UInt64)? {
        guard !state.isAtEnd, try fill(&state, HibernationRecord.frameSize) else {
            state.isAtEnd = true
            return nil
        }
        let length = state.buffer.littleEndian(at: state.offset, as: UInt32.self)
        guard length != HibernationRecord.endMark else {
            state.isAtEnd = true
            if try fill(&state, HibernationRecord.endSize) {
                let bytes = Array(state.buffer[state.offset...].prefix(HibernationRecord.endSize))
                state.isWhole = HibernationRecord.count(atEnd: bytes, identity) == UInt64(state.seen)
            }
            return nil
        }
        guard (UInt32(HibernationRecord.headSize)...UInt32(HibernationRecord.longest)).contains(length),
            try fill(&state, HibernationRecord.frameSize + Int(length))
        else {
            state.isAtEnd = true
            state.damaged += 1
            return nil
        }
        let checksum = state.buffer.littleEndian(at: state.offset + 4, as: UInt64.self)
        let start = state.offset + HibernationRecord.frameSize
        state.offset = start + Int(length)
        return (Array(state.buffer[start..<state.offset]), checksum)
    }

    /// Sees to it that so many bytes are in the buffer behind the offset; false when the file has no more.
    private static func fill(_ state: inout State, _ count: Int) throws(HibernationError) -> Bool {
        while state.buffer.count - state.offset < count {
            if state.offset > 0 {
                state.buffer.removeFirst(state.offset)
                state.offset = 0
            }
            let more = try state.file.read(chunk)
            guard !more.isEmpty else { return false }
            state.buffer += more
        }
        return true
    }
}
