#if TLS
internal import COpenSSL

/// What the connections of one configuration share: the certificates and keys as they were read, and the sessions that
/// can be resumed.
///
/// Lives on the I/O thread.
final class TLSContext {
    /// What a context is made from.
    struct Files: Sendable, Hashable {
        /// The authorities; `nil` means those of the system.
        var authorities: String?
        /// The client's certificate with its chain, and its key.
        var certificate: String?
        var key: String?

        var all: [String] { [authorities, certificate, key].compactMap { $0 } }
    }

    /// So many servers have a session kept.
    static let mostSessions = 256

    let pointer: OpaquePointer
    private var sessions: [String: OpaquePointer] = [:]
    /// Whether a handshake has succeeded.
    private var isProved = false
    /// Whether handshakes have failed and none has succeeded: what was read may not be all there is.
    ///
    /// OpenSSL does not say when it could not open the bundle of the system's authorities, for want of a descriptor,
    /// say.
    private(set) var isDoubtful = false

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - files: The files, in PEM.
    ///   - verifies: Whether the server has to prove who it is.
    ///   - newest: Whether nothing older than TLS 1.3 will do.
    ///   - withSystem: Whether the authorities of the system are read where no file names others.
    /// - Throws: ``RedisError/Code/invalidConfiguration``, with the file and what is wrong with it.
    init(_ files: Files, verifies: Bool, newest: Bool, withSystem: Bool = true) throws(RedisError) {
        ERR_clear_error()
        guard let pointer = copenssl_context_create(newest ? 1 : 0) else {
            throw Self.failure("OpenSSL cannot make a context", nil)
        }
        self.pointer = pointer
        copenssl_context_verify(pointer, verifies ? 1 : 0)
        if let authorities = files.authorities {
            guard SSL_CTX_load_verify_locations(pointer, authorities, nil) == 1 else {
                throw Self.failure("the file of authorities", authorities)
            }
        } else if verifies, withSystem {
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw Self.failure("the authorities of the system cannot be read", nil)
            }
        }
        guard let certificate = files.certificate, let key = files.key else { return }
        guard SSL_CTX_use_certificate_chain_file(pointer, certificate) == 1 else {
            throw Self.failure("the file of the client's certificate", certificate)
        }
        guard SSL_CTX_use_PrivateKey_file(pointer, key, SSL_FILETYPE_PEM) == 1 else {
            throw Self.failure("the file of the client's key", key)
        }
        guard SSL_CTX_check_private_key(pointer) == 1 else {
            throw Self.failure("the client's key does not match its certificate", nil)
        }
    }

    deinit {
        for session in sessions.values { SSL_SESSION_free(session) }
        SSL_CTX_free(pointer)
    }

    /// A handshake has ended.
    func ended(successfully: Bool) {
        if successfully { isProved = true }
        isDoubtful = !isProved
    }

    /// The session to be resumed with a server.
    func session(for server: String) -> OpaquePointer? { sessions[server] }

    /// Keeps the session of a connection for the next one to the same server.
    func remember(_ ssl: OpaquePointer, for server: String) {
        guard let session = SSL_get1_session(ssl) else { return }
        guard SSL_SESSION_is_resumable(session) == 1 else { return SSL_SESSION_free(session) }
        forget(server)
        if sessions.count >= Self.mostSessions, let other = sessions.keys.first { forget(other) }
        sessions[server] = session
    }

    func forget(_ server: String) {
        if let session = sessions.removeValue(forKey: server) { SSL_SESSION_free(session) }
    }

    /// What went wrong with a file, in the words of the system or of OpenSSL.
    private static func failure(_ what: String, _ file: String?) -> RedisError {
        var message = what
        if let file {
            let words = TLSFault.words(of: ERR_peek_last_error())
            message += " cannot be used: \(PrintableText.escape(Array(file.utf8))): \(words)"
        }
        ERR_clear_error()
        return RedisError(code: .invalidConfiguration, message: message)
    }
}
#endif
