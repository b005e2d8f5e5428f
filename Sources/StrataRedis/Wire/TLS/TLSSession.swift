#if TLS
internal import COpenSSL

/// TLS between memory and memory: what the server has sent goes in, what it is to be sent comes out.
///
/// A BIO pair stands where OpenSSL expects a socket: two rings, out of which and into which the socket's bytes go
/// without another copy. Renegotiation is refused, and an update of keys is answered by itself. Lives on the I/O
/// thread.
final class TLSSession {
    enum Outcome {
        case moved(Int)
        /// More bytes of the server are needed, or those for it have to go out first.
        case wouldBlock
        /// The server has said that it ends.
        case ended
        case failed(RedisError)
    }

    /// The plain bytes of one record at most (RFC 8446, section 5.1).
    static let recordLimit = 16 << 10
    /// More than the largest record.
    private static let outputSize = 20 << 10
    private static let inputSize = 64 << 10

    private let context: TLSContext
    private let ssl: OpaquePointer
    private let network: OpaquePointer
    private let host: String
    private let server: String
    private let hasCertificate: Bool
    private var firstByte: UInt8?
    private var isEstablished = false
    private var isBroken = false
    private var isRemembered = false

    /// - Parameters:
    ///   - context: Certificates, keys and sessions.
    ///   - host: Whom the certificate has to be for, a name or an address.
    ///   - server: Under what a session is kept.
    ///   - hasCertificate: Whether the context has a certificate of the client.
    /// - Throws: ``RedisError/Code/tls`` when OpenSSL gives no connection, or the host is no name.
    init(_ context: TLSContext, host: String, server: String, hasCertificate: Bool) throws(RedisError) {
        ERR_clear_error()
        self.context = context
        self.host = host
        self.server = server
        self.hasCertificate = hasCertificate
        guard let ssl = SSL_new(context.pointer) else { throw Self.exhausted }
        var inner: OpaquePointer?
        var outer: OpaquePointer?
        guard BIO_new_bio_pair(&inner, Self.outputSize, &outer, Self.inputSize) == 1, let inner, let outer else {
            SSL_free(ssl)
            throw Self.exhausted
        }
        SSL_set_bio(ssl, inner, inner)
        self.ssl = ssl
        network = outer
        SSL_set_connect_state(ssl)
        guard prepare() else { throw RedisError.tls(.handshake, "the host is not a name that a certificate can have") }
        if let session = context.session(for: server) { SSL_set_session(ssl, session) }
    }

    deinit {
        if !isBroken { copenssl_keep_session(ssl) }
        SSL_free(ssl)
        BIO_free(network)
        ERR_clear_error()
    }

    private static var exhausted: RedisError { .tls(.handshake, "OpenSSL cannot make a connection") }

    /// Says whom the certificate has to be for, and asks for that name.
    private func prepare() -> Bool {
        guard let parameters = SSL_get0_param(ssl) else { return false }
        // An address has no name to ask for; one of IPv6 may have a zone, of which no certificate knows.
        let address = String(host.prefix { $0 != "%" })
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, address) == 1 { return true }
        ERR_clear_error()
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return X509_VERIFY_PARAM_set1_host(parameters, name, 0) == 1 && copenssl_set_server_name(ssl, name) == 1
    }

    // MARK: The socket's side

    /// Bytes for the server; valid until the next call.
    var output: UnsafeRawBufferPointer {
        var start: UnsafeMutablePointer<CChar>?
        let count = BIO_nread0(network, &start)
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : max(Int(count), 0))
    }

    var hasOutput: Bool { BIO_ctrl_pending(network) > 0 }

    /// So many bytes of ``output`` have gone out.
    func sent(_ count: Int) {
        var start: UnsafeMutablePointer<CChar>?
        BIO_nread(network, &start, Int32(count))
    }

    /// Where bytes of the server may be put; empty when they have to be read first.
    var room: UnsafeMutableRawBufferPointer {
        var start: UnsafeMutablePointer<CChar>?
        let count = BIO_nwrite0(network, &start)
        return UnsafeMutableRawBufferPointer(start: start, count: start == nil ? 0 : max(Int(count), 0))
    }

    /// So many bytes of the server were put into ``room``.
    func received(_ count: Int) {
        var start: UnsafeMutablePointer<CChar>?
        guard BIO_nwrite(network, &start, Int32(count)) > 0, firstByte == nil, let start else { return }
        firstByte = UInt8(bitPattern: start.pointee)
    }

    /// Whether the server has sent anything.
    var hasHeard: Bool { firstByte != nil }

    // MARK: The protocol's side

    /// Goes on with the handshake: `moved` when it is over.
    func handshake() -> Outcome {
        ERR_clear_error()
        let status = SSL_do_handshake(ssl)
        guard status != 1 else {
            isEstablished = true
            context.ended(successfully: true)
            return .moved(0)
        }
        switch SSL_get_error(ssl, status) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
        default:
            breakOff()
            context.ended(successfully: false)
            return .failed(
                TLSFault.handshake(ssl, firstByte: firstByte, hasCertificate: hasCertificate, host: host)
            )
        }
    }

    /// Decrypts into a buffer, one record at most.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        ERR_clear_error()
        var count = 0
        let status = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        guard status != 1 else {
            // What can be resumed has come by then (RFC 8446, section 4.6.1).
            if !isRemembered {
                isRemembered = true
                context.remember(ssl, for: server)
            }
            return .moved(count)
        }
        return outcome(status)
    }

    /// Encrypts the first bytes of a buffer, one record at most.
    ///
    /// ``output`` has to be empty.
    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        ERR_clear_error()
        var count = 0
        let status = SSL_write_ex(ssl, bytes.baseAddress, min(bytes.count, Self.recordLimit), &count)
        return status == 1 ? .moved(count) : outcome(status)
    }

    /// Says to the server that this is the end.
    func close() {
        guard isEstablished, !isBroken else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    private func outcome(_ status: Int32) -> Outcome {
        switch SSL_get_error(ssl, status) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            breakOff()
            return .failed(TLSFault.transfer(ssl, hasCertificate: hasCertificate))
        }
    }

    /// What has failed is not resumed.
    private func breakOff() {
        isBroken = true
        context.forget(server)
    }

    /// Whether the server wanted a certificate and got none.
    var wasAskedInVain: Bool { copenssl_was_asked(ssl) != 0 && !hasCertificate }
}
#endif
