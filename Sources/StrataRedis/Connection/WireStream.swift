internal import Strata

/// A connected socket with its outgoing bytes and its reader of replies.
///
/// Lives on the I/O thread.
final class WireStream {
    private let socket: Socket
    private let reader: ReplyReader
    private let endpoint: String
    private var sending = CommandWriter()
    private var sent = 0
    /// Whether nothing has come yet.
    private var isFresh = true

    /// - Parameters:
    ///   - socket: A connected socket.
    ///   - limits: What replies may cost.
    ///   - endpoint: The server, for errors.
    ///   - allowance: See ``ReplyReader/init(limits:allowance:)``.
    init(
        _ socket: Socket,
        limits: ReplyLimits,
        endpoint: String,
        allowance: @escaping (Int) -> Bool = { _ in true }
    ) {
        self.socket = socket
        self.endpoint = endpoint
        reader = ReplyReader(limits: limits, allowance: allowance)
    }

    var descriptor: Int32 { socket.descriptor }

    /// Bytes that were taken over and that the system has not accepted yet.
    var unsent: Int { sending.count - sent }

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
                if sending.isEmpty { return nil }
            }
            switch socket.send(UnsafeRawBufferPointer(rebasing: sending.bytes[sent...])) {
            case .moved(let count): sent += count
            case .wouldBlock, .ended: return nil
            case .failed(let error): return lost("the connection broke: \(error)")
            }
        }
    }

    /// Receives what there is, up to a bound: a connection that never runs dry must not starve the others.
    ///
    /// - Parameters:
    ///   - buffer: Where the bytes go first.
    ///   - replies: Gets the replies that are whole, empty when `accept` is called the next time.
    ///   - accept: Called after each read with what it has brought, and how many bytes that were. Returns false when the stream is to be left alone.
    /// - Returns: Why the connection is broken, if it is.
    func receive(
        through buffer: UnsafeMutableRawBufferPointer,
        into replies: inout [RESPValue],
        accept: (inout [RESPValue], Int) -> Bool
    ) -> RedisError? {
        for _ in 0..<8 {
            switch socket.receive(into: buffer) {
            case .moved(let count):
                var violation: ReplyReader.Violation?
                let isFirst = exchange(&isFresh, with: false)
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
                    return lost("the server broke the protocol: \(violation.message)", code: .protocolViolation)
                }
                if count < buffer.count { return nil }
            case .wouldBlock: return nil
            case .ended where isFresh:
                return lost("the server closed the connection before it answered, as a port for TLS does")
            case .ended: return lost("the server closed the connection")
            case .failed(let error): return lost("the connection broke: \(error)")
            }
        }
        return nil
    }

    private func lost(_ message: String, code: RedisError.Code = .connectionLost) -> RedisError {
        RedisError(code: code, message: message, endpoint: endpoint)
    }
}
