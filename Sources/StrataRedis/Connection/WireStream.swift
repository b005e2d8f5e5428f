internal import Strata

/// A connected socket, encrypted or not, with its outgoing bytes and its reader of replies.
///
/// Lives on the I/O thread.
final class WireStream {
    /// So many times in a row the socket is read.
    private static let rounds = 8

    private let socket: Socket
    private let secure: SecureSocket?
    private let reader: ReplyReader
    private let endpoint: String
    private var sending = CommandWriter()
    private var sent = 0
    /// Whether the server has sent anything.
    private var hasHeard = false

    /// - Parameters:
    ///   - socket: A connected socket.
    ///   - secure: What encrypts on it; `nil` if nothing does.
    ///   - limits: What replies may cost.
    ///   - endpoint: The server, for errors.
    ///   - allowance: See ``ReplyReader/init(limits:allowance:)``.
    init(
        _ socket: Socket,
        _ secure: SecureSocket? = nil,
        limits: ReplyLimits,
        endpoint: String,
        allowance: @escaping (Int) -> Bool = { _ in true }
    ) {
        self.socket = socket
        self.secure = secure
        self.endpoint = endpoint
        reader = ReplyReader(limits: limits, allowance: allowance)
    }

    var descriptor: Int32 { socket.descriptor }

    /// Bytes that were taken over and that the system has not accepted yet.
    var unsent: Int { sending.count - sent }

    /// Whether the socket has to become writable first.
    var wantsToSend: Bool { secure?.wantsToSend ?? (unsent > 0) }

    /// Sends until nothing is left or the system takes no more.
    ///
    /// - Parameter exchange: Puts the bytes that are waiting into the empty buffer it is given.
    /// - Returns: Why the connection is broken, if it is.
    func flush(_ exchange: (inout CommandWriter) -> Void) -> RedisError? {
        while true {
            if sent == sending.count {
                sending.removeAll()
                sent = 0
                exchange(&sending)
                if sending.isEmpty {
                    // TLS may have to answer the server by itself; how that goes, the next read tells.
                    if let secure, secure.wantsToSend { _ = secure.flush() }
                    return nil
                }
            }
            switch send(UnsafeRawBufferPointer(rebasing: sending.bytes[sent...])) {
            case .moved(let count): sent += count
            case .wouldBlock, .ended: return nil
            case .refused(let error): return lost(error)
            case .failed(let error): return broken("the connection broke: \(error)")
            }
        }
    }

    /// Receives what there is, up to a bound: a connection that never runs dry must not starve the others.
    ///
    /// - Parameters:
    ///   - buffer: Where the bytes go first.
    ///   - replies: Gets the replies that are whole, empty when `accept` is called the next time.
    ///   - accept: Called after each read with what it has brought, and how many bytes that were. Returns false when
    ///     the stream is to be left alone.
    /// - Returns: Why the connection is broken, if it is.
    func receive(
        through buffer: UnsafeMutableRawBufferPointer,
        into replies: inout [RESPValue],
        accept: (inout [RESPValue], Int) -> Bool
    ) -> RedisError? {
        var round = 0
        while true {
            defer { round += 1 }
            switch receive(into: buffer, pulls: round < Self.rounds) {
            case .moved(let count):
                let isFirst = !exchange(&hasHeard, with: true)
                var violation: ReplyReader.Violation?
                do {
                    try reader.read(UnsafeRawBufferPointer(rebasing: buffer[..<count]), into: &replies)
                } catch { violation = error }
                let goesOn = accept(&replies, count)
                replies.removeAll(keepingCapacity: true)
                guard goesOn else { return nil }
                if violation != nil, isFirst,
                    let stranger = Stranger(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                {
                    return lost(stranger.message, code: .wrongServer)
                }
                if let violation {
                    if Self.isTLS(buffer, count), secure == nil {
                        return lost(.tls(.serverSpeaksTLS, "the server speaks TLS at this port: use rediss://"))
                    }
                    return lost("the server broke the protocol: \(violation.message)", code: .protocolViolation)
                }
                if count < buffer.count, secure?.hasEnded != true { return nil }
            case .wouldBlock: return nil
            case .ended: return broken("the server closed the connection")
            case .failed(let error): return broken("the connection broke: \(error)")
            case .refused(let error): return lost(error)
            }
        }
    }

    @inline(__always)
    private func send(_ bytes: UnsafeRawBufferPointer) -> Socket.Transfer {
        if let secure { return secure.send(bytes) }
        return socket.send(bytes)
    }

    /// Receives once.
    ///
    /// With `pulls` the socket is read. What TLS has read already is taken to its end without, for no event tells of
    /// it.
    @inline(__always)
    private func receive(into buffer: UnsafeMutableRawBufferPointer, pulls: Bool) -> Socket.Transfer {
        if let secure { return secure.receive(into: buffer, pulls: pulls) }
        return pulls ? socket.receive(into: buffer) : .wouldBlock
    }

    private func lost(_ error: RedisError) -> RedisError {
        var error = error
        error.endpoint = endpoint
        return error
    }

    /// A server that speaks TLS closes on plain text without a word; so may others, so this is no more than a question.
    private func broken(_ message: String) -> RedisError {
        guard !hasHeard, secure == nil, !endpoint.hasPrefix("/") else { return lost(message) }
        return lost(message + " before its first reply: does it speak TLS at this port?")
    }

    /// Whether bytes that are no reply begin as a record of TLS does (RFC 8446, section 5.1).
    private static func isTLS(_ bytes: UnsafeMutableRawBufferPointer, _ count: Int) -> Bool {
        count >= 3 && (0x14...0x17).contains(bytes[0]) && bytes[1] == 3 && bytes[2] <= 4
    }

    private func lost(_ message: String, code: RedisError.Code = .connectionLost) -> RedisError {
        RedisError(code: code, message: message, endpoint: endpoint)
    }
}
