import StrataTesting

/// A connection that shows every byte and every ending.
final class ByteClient: Sendable {
    enum Ending: Equatable {
        case end
        case failure
    }

    private let socket: StreamSocket

    private init(_ socket: StreamSocket) {
        self.socket = socket
    }

    static func connect(to endpoint: TestEndpoint) async throws -> ByteClient {
        try await BlockingThread.run { cancellation in
            let socket = try StreamSocket.beginConnecting(to: try .numeric(endpoint))
            try Self.wait(socket, .write, cancellation)
            if let error = socket.takeError() { throw HarnessError(.connectionFailed, error) }
            return ByteClient(socket)
        }
    }

    func send(_ bytes: [UInt8]) async throws {
        try await BlockingThread.run { [socket] cancellation in
            var rest = bytes[...]
            while !rest.isEmpty {
                switch socket.send(rest) {
                case .bytes(let count): rest = rest.dropFirst(count)
                case .wouldBlock: try Self.wait(socket, .write, cancellation)
                case .ended, .failed: throw HarnessError(.connectionFailed, "send")
                }
            }
        }
    }

    func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Sends until the kernel takes no more; returns how much it took.
    func sendUntilFull() -> Int {
        let block = [UInt8](repeating: 0x78, count: 64 << 10)
        var total = 0
        while case .bytes(let count) = socket.send(block[...]) {
            total += count
        }
        return total
    }

    func endWriting() {
        socket.endWriting()
    }

    /// Exactly `count` bytes.
    func read(_ count: Int) async throws -> [UInt8] {
        try await BlockingThread.run { [socket] cancellation in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            var bytes: [UInt8] = []
            while bytes.count < count {
                switch socket.receive(into: &buffer, limit: min(count - bytes.count, buffer.count)) {
                case .bytes(let count): bytes += buffer[..<count]
                case .wouldBlock: try Self.wait(socket, .read, cancellation)
                case .ended, .failed: throw HarnessError(.connectionFailed, "ended after \(bytes.count) bytes")
                }
            }
            return bytes
        }
    }

    func readText(_ count: Int) async throws -> String {
        String(decoding: try await read(count), as: UTF8.self)
    }

    /// Everything up to the end, and how it ended.
    func readToEnd() async throws -> (text: String, ending: Ending) {
        try await BlockingThread.run { [socket] cancellation in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            var bytes: [UInt8] = []
            while true {
                switch socket.receive(into: &buffer, limit: buffer.count) {
                case .bytes(let count): bytes += buffer[..<count]
                case .wouldBlock: try Self.wait(socket, .read, cancellation)
                case .ended: return (String(decoding: bytes, as: UTF8.self), .end)
                case .failed: return (String(decoding: bytes, as: UTF8.self), .failure)
                }
            }
        }
    }

    /// What is there now, without waiting.
    func readArrived() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        guard case .bytes(let count) = socket.receive(into: &buffer, limit: buffer.count) else { return [] }
        return Array(buffer[..<count])
    }

    private static func wait(
        _ socket: StreamSocket,
        _ interest: Readiness.Interest,
        _ cancellation: BlockingThread.Cancellation
    ) throws {
        try cancellation.check()
        var readiness = Readiness()
        readiness.add(socket.number, interest)
        readiness.wait(until: .now + .milliseconds(100))
    }
}
