/// A small blocking client of the Redis protocol, independent of the client under test.
///
/// Blocks its thread, so it lives on a ``BlockingThread``. Not shared between threads.
package struct RawConnection: ~Copyable {
    /// Names and passwords that never show in a description.
    package typealias Credentials = RedisServer.Credentials

    // Far above what a test reads; below what would hurt when a faulty server announces nonsense.
    private static let bulkLimit = 512 << 20
    private static let lineLimit = 64 << 10
    private static let depthLimit = 32

    private let socket: StreamSocket
    private let deadline: ContinuousClock.Instant
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private var received: ArraySlice<UInt8> = []

    /// Connects before `deadline`, which also ends every later call.
    package init(to endpoint: TestEndpoint, until deadline: ContinuousClock.Instant) throws {
        self.deadline = deadline
        var failure = HarnessError(.connectionFailed, "no address for \(endpoint)")
        for address in try SocketAddress.resolved(endpoint) {
            do {
                let socket = try StreamSocket.beginConnecting(to: address)
                try Self.wait(for: .write, socket, until: deadline)
                if let error = socket.takeError() {
                    throw HarnessError(.connectionFailed, "\(endpoint): \(error)")
                }
                self.socket = socket
                return
            } catch let error as HarnessError {
                failure = error
            }
        }
        throw failure
    }

    /// Sends a command and waits for its reply.
    ///
    /// An error reply is thrown.
    package mutating func command(_ arguments: [String]) throws -> RawReply {
        try command(arguments.map { Array($0.utf8) })
    }

    package mutating func command(_ arguments: [[UInt8]]) throws -> RawReply {
        try send(Self.encoded(arguments))
        let reply = try readReply(depth: 0)
        if case .error(let text) = reply { throw HarnessError(.errorReply, text) }
        return reply
    }

    /// Authenticates, if there is something to authenticate with.
    package mutating func authenticate(_ credentials: Credentials?) throws {
        guard let credentials else { return }
        _ = try command(["AUTH"] + (credentials.username.map { [$0] } ?? []) + [credentials.password])
    }

    /// A command as the server reads it: a list of strings of bytes.
    static func encoded(_ arguments: [[UInt8]]) -> [UInt8] {
        var bytes = Array("*\(arguments.count)\r\n".utf8)
        for argument in arguments {
            bytes += "$\(argument.count)\r\n".utf8
            bytes += argument
            bytes += [0x0d, 0x0a]
        }
        return bytes
    }

    private func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch socket.send(rest) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try Self.wait(for: .write, socket, until: deadline)
            case .ended: throw HarnessError(.connectionFailed, "connection closed")
            case .failed(let text): throw HarnessError(.connectionFailed, text)
            }
        }
    }

    private mutating func readReply(depth: Int) throws -> RawReply {
        guard depth < Self.depthLimit else { throw HarnessError(.malformedReply, "lists nested too deep") }
        let line = try readLine()
        guard let kind = line.first else { throw HarnessError(.malformedReply, "empty line") }
        let rest = String(decoding: line.dropFirst(), as: UTF8.self)
        switch kind {
        case UInt8(ascii: "+"): return .status(rest)
        case UInt8(ascii: "-"): return .error(rest)
        case UInt8(ascii: ":"): return .integer(try Self.number(rest, in: .min ... .max))
        case UInt8(ascii: "$"):
            let count = Int(try Self.number(rest, in: -1...Int64(Self.bulkLimit)))
            return count < 0 ? .null : .bulk(try readBulk(count))
        case UInt8(ascii: "*"):
            let count = try Self.number(rest, in: -1...Int64(Int32.max))
            guard count >= 0 else { return .null }
            var replies: [RawReply] = []
            for _ in 0..<count {
                replies.append(try readReply(depth: depth + 1))
            }
            return .array(replies)
        default:
            throw HarnessError(.malformedReply, "a reply cannot begin with byte \(kind)")
        }
    }

    private mutating func readLine() throws -> [UInt8] {
        var line: [UInt8] = []
        while true {
            if let end = received.firstIndex(of: 0x0a) {
                line += received[..<end]
                received = received[(end + 1)...]
                guard line.popLast() == 0x0d else { throw HarnessError(.malformedReply, "a line without CR") }
                return line
            }
            line += received
            guard line.count <= Self.lineLimit else { throw HarnessError(.malformedReply, "an endless line") }
            try fill()
        }
    }

    private mutating func readBulk(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count + 2 {
            let part = received.prefix(count + 2 - bytes.count)
            bytes += part
            received = received.dropFirst(part.count)
            if bytes.count < count + 2 { try fill() }
        }
        guard bytes.suffix(2) == [0x0d, 0x0a] else { throw HarnessError(.malformedReply, "a string without CR LF") }
        bytes.removeLast(2)
        return bytes
    }

    /// Replaces `received`, which must have been taken, by the next bytes.
    private mutating func fill() throws {
        while true {
            switch socket.receive(into: &buffer, limit: buffer.count) {
            case .bytes(let count):
                received = ArraySlice(buffer[..<count])
                return
            case .wouldBlock: try Self.wait(for: .read, socket, until: deadline)
            case .ended: throw HarnessError(.connectionFailed, "connection closed")
            case .failed(let text): throw HarnessError(.connectionFailed, text)
            }
        }
    }

    private static func number(_ text: String, in range: ClosedRange<Int64>) throws -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw HarnessError(.malformedReply, "a number out of range")
        }
        return number
    }

    private static func wait(
        for interest: Readiness.Interest,
        _ socket: StreamSocket,
        until deadline: ContinuousClock.Instant
    ) throws {
        guard ContinuousClock.now < deadline else { throw HarnessError(.deadlineExceeded, "no answer in time") }
        var readiness = Readiness()
        readiness.add(socket.number, interest)
        readiness.wait(until: deadline)
    }
}
