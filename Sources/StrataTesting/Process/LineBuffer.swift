/// Lines between the thread that reads them from a process and the tasks that want them.
final class LineBuffer: Sendable {
    private struct State: Sendable {
        var lines: ArraySlice<String> = []
        var readers: [(id: Int, continuation: CheckedContinuation<String?, Never>)] = []
        var nextID = 0
        /// The process has closed its side.
        var hasEnded = false
        /// The reader has left.
        var isClosed = false
    }

    private static let lineLimit = 1 << 20

    private let limit: Int
    private let state = Monitor(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// The next line; `nil` after the last, or when the task is cancelled.
    func next() async -> String? {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
                let answer: String?? = state.change { state in
                    if Task.isCancelled { return .some(nil) }
                    if let line = state.lines.popFirst() { return line }
                    if state.hasEnded || state.isClosed { return .some(nil) }
                    state.readers.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                state.readers.firstIndex { $0.id == id }.map { state.readers.remove(at: $0) }
            }
            reader?.continuation.resume(returning: nil)
        }
    }

    /// Reads until the other side closes.
    ///
    /// Blocks, also while the buffer is full.
    func fill(from source: StreamSocket) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var line: [UInt8] = []
        reading: while true {
            guard case .bytes(let count) = source.receive(into: &buffer, limit: buffer.count) else { break }
            var rest = buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                line += rest[..<end]
                rest = rest[(end + 1)...]
                guard add(line) else { break reading }
                line = []
            }
            line += rest
            if line.count >= Self.lineLimit {
                guard add(line) else { break }
                line = []
            }
        }
        if !line.isEmpty { _ = add(line) }
        let readers = state.change { state in
            state.hasEnded = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers {
            reader.continuation.resume(returning: nil)
        }
    }

    /// Lets the reading thread end.
    func close() {
        state.change { $0.isClosed = true }
    }

    /// Passes a line on, after waiting for room; `false` when the reader has left.
    private func add(_ bytes: [UInt8]) -> Bool {
        let line = String(decoding: bytes, as: UTF8.self)
        let (reader, isOpen) = state.wait(until: { $0.isClosed || $0.lines.count < limit }) { state in
            guard !state.isClosed else { return (nil as CheckedContinuation<String?, Never>?, false) }
            if state.readers.isEmpty {
                state.lines.append(line)
                return (nil, true)
            }
            return (state.readers.removeFirst().continuation, true)
        }
        reader?.resume(returning: line)
        return isOpen
    }
}
