#if TLS
internal import Strata

/// TLS over a connected socket.
///
/// Lives on the I/O thread.
final class SecureSocket {
    private let socket: Socket
    private let session: TLSSession
    /// How many plain bytes are in the record that is on its way.
    private var underWay = 0
    /// So often the socket is read at a time: a server that never stops sending what is no data must not hold the
    /// thread.
    private static let mostPulls = 8
    /// How the connection has ended, told when what came before was taken.
    private var ending: Socket.Transfer?

    init(_ socket: Socket, _ session: TLSSession) {
        self.socket = socket
        self.session = session
    }

    deinit {
        // The rest of a record that is on its way must not go: its commands count as unsent, and may be sent elsewhere.
        guard underWay == 0 else { return }
        session.close()
        _ = flush()
    }

    /// Whether the socket has to become writable first.
    var wantsToSend: Bool { session.hasOutput }

    /// Whether the next ``receive(into:pulls:)`` has something to tell although the socket may be silent.
    var hasEnded: Bool { ending != nil }

    // MARK: Handshake

    /// Goes on with the handshake: true when it is over.
    ///
    /// What it leaves in the socket is there at the next call.
    func handshake() throws(RedisError) -> Bool {
        var pullsLeft = Self.mostPulls
        while true {
            switch session.handshake() {
            case .moved, .ended:
                _ = flush()
                return true
            case .failed(let error):
                // The server is told why, as far as that is possible.
                _ = flush()
                throw error
            case .wouldBlock:
                let hadOutput = wantsToSend
                if case .failed(let error) = flush() { throw broken("\(error)") }
                guard pullsLeft > 0 else { return false }
                pullsLeft -= 1
                switch pull() {
                case .moved: continue
                // There is room again for what OpenSSL could not write.
                case .wouldBlock: if hadOutput, !wantsToSend { continue }
                case .ended: throw broken("the server closed the connection")
                case .failed(let error): throw broken("\(error)")
                case .refused(let error): throw error
                }
                return false
            }
        }
    }

    /// Why the time of the handshake was up.
    ///
    /// - Parameter isKnown: Whether the server has spoken TLS before: then it is silent for now, and speaks no plain
    ///   text.
    /// - Returns: The error of the attempt.
    func overdue(isKnown: Bool) -> RedisError {
        guard session.hasHeard || isKnown else {
            return .tls(
                .serverSpeaksPlain,
                "the server did not answer the TLS handshake within the connect timeout: "
                    + "does it speak plain text at this port?"
            )
        }
        return .tls(.handshake, "the TLS handshake did not end within the connect timeout")
    }

    private func broken(_ words: String) -> RedisError {
        if session.wasAskedInVain {
            return .tls(.certificateRequired, "the server requires a client certificate, and none is configured")
        }
        return .tls(.handshake, "the connection broke during the TLS handshake: \(words)")
    }

    // MARK: Transfer

    /// Sends the first bytes of a buffer.
    ///
    /// They count as moved when the system has taken the whole record that they are in: before that the server can read
    /// none of them.
    func send(_ bytes: UnsafeRawBufferPointer) -> Socket.Transfer {
        if underWay == 0 {
            // What is left of the handshake, or answers an update of keys, goes first.
            guard case .moved = flush() else { return blockedOrBroken() }
            switch session.write(bytes) {
            case .moved(let count): underWay = count
            case .wouldBlock: return .wouldBlock
            case .ended: return .ended
            case .failed(let error): return .refused(error)
            }
        }
        guard case .moved = flush() else { return blockedOrBroken() }
        defer { underWay = 0 }
        return .moved(underWay)
    }

    /// Fills a buffer with plain bytes.
    ///
    /// - Parameters:
    ///   - buffer: Gets them. Fewer than it holds have come when the socket has no more for now.
    ///   - pulls: Whether the socket is read, or only what is here already.
    /// - Returns: How many bytes came, or how it has ended.
    func receive(into buffer: UnsafeMutableRawBufferPointer, pulls: Bool) -> Socket.Transfer {
        var count = 0
        var pullsLeft = pulls ? Self.mostPulls : 0
        while count < buffer.count, ending == nil {
            switch session.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...])) {
            case .moved(let more): count += more
            case .wouldBlock:
                guard pullsLeft > 0 else { return count > 0 ? .moved(count) : .wouldBlock }
                pullsLeft -= 1
                switch pull() {
                case .moved: continue
                case .wouldBlock: return count > 0 ? .moved(count) : .wouldBlock
                case let end: ending = end
                }
            case .ended: ending = .ended
            case .failed(let error): ending = .refused(error)
            }
        }
        return count > 0 ? .moved(count) : ending ?? .wouldBlock
    }

    /// Hands what is encrypted to the system: `moved` when nothing is left.
    func flush() -> Socket.Transfer {
        while session.hasOutput {
            switch socket.send(session.output) {
            case .moved(let count): session.sent(count)
            case let other: return other
            }
        }
        return .moved(0)
    }

    /// Reads from the socket what there is room for.
    private func pull() -> Socket.Transfer {
        let transfer = socket.receive(into: session.room)
        if case .moved(let count) = transfer { session.received(count) }
        return transfer
    }

    /// A server that does not want this client says why and closes: its words are read before the system's error about
    /// bytes that were not taken.
    private func blockedOrBroken() -> Socket.Transfer {
        let transfer = flush()
        guard case .failed = transfer else { return transfer }
        withUnsafeTemporaryAllocation(byteCount: TLSSession.recordLimit, alignment: 16) { buffer in
            while ending == nil, case .moved = receive(into: buffer, pulls: true) {}
        }
        if case .refused = ending { return ending ?? transfer }
        return session.wasAskedInVain ? .refused(broken("")) : transfer
    }
}
#endif
