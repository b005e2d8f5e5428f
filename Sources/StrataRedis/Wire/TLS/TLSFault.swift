#if TLS
internal import COpenSSL

/// Why TLS has failed, read off OpenSSL's errors.
enum TLSFault {
    /// Why a handshake has failed, or what the server has objected to right after it.
    ///
    /// - Parameters:
    ///   - ssl: The connection.
    ///   - firstByte: The first byte that the server has sent.
    ///   - hasCertificate: Whether the client has a certificate.
    ///   - host: Whom the certificate had to be for.
    /// - Returns: The error, without an endpoint.
    static func handshake(_ ssl: OpaquePointer, firstByte: UInt8?, hasCertificate: Bool, host: String) -> RedisError {
        let first = ERR_peek_error()
        let words = words(of: first)
        let reason = copenssl_tls_reason(first)
        ERR_clear_error()
        // A record of TLS begins with its kind: an alert or a part of the handshake.
        if let firstByte, firstByte != 0x15, firstByte != 0x16 {
            return .tls(.serverSpeaksPlain, "the server speaks plain text at this port, not TLS")
        }
        if reason == SSL_R_CERTIFICATE_VERIFY_FAILED {
            return verification(SSL_get_verify_result(ssl), host: host)
        }
        if let error = alert(reason, wasAsked: copenssl_was_asked(ssl) != 0, hasCertificate: hasCertificate) {
            return error
        }
        switch reason {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_UNKNOWN_PROTOCOL, SSL_R_WRONG_VERSION_NUMBER, SSL_R_UNKNOWN_SSL_VERSION,
            SSL_R_WRONG_SSL_VERSION, SSL_R_VERSION_TOO_LOW, SSL_R_INAPPROPRIATE_FALLBACK:
            return tooOld
        default: return .tls(.handshake, "the TLS handshake failed: \(words)")
        }
    }

    /// What broke a connection that stood.
    static func transfer(_ ssl: OpaquePointer, hasCertificate: Bool) -> RedisError {
        let first = ERR_peek_error()
        let words = words(of: first)
        let reason = copenssl_tls_reason(first)
        ERR_clear_error()
        // With TLS 1.3 the server looks at the client's certificate when the client takes the handshake for over.
        return alert(reason, wasAsked: copenssl_was_asked(ssl) != 0, hasCertificate: hasCertificate)
            ?? RedisError(code: .connectionLost, message: "the connection broke: TLS: \(words)")
    }

    private static func verification(_ result: Int, host: String) -> RedisError {
        let whose = "the server's certificate"
        switch Int32(truncatingIfNeeded: result) {
        case X509_V_ERR_CERT_HAS_EXPIRED: return .tls(.expired, "\(whose), or one in its chain, has expired")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return .tls(.notYetValid, "\(whose), or one in its chain, is not valid yet: check the clocks")
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return .tls(.wrongHost, "\(whose) is not for \(PrintableText.escape(Array(host.utf8)))")
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return .tls(.unknownAuthority, "\(whose) is self-signed, not signed by an authority that is trusted here")
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return .tls(.unknownAuthority, "\(whose) is signed by an authority that is not trusted here")
        default:
            let words = X509_verify_cert_error_string(result).map { String(cString: $0) } ?? "error \(result)"
            return .tls(.untrusted, "\(whose) cannot be trusted: \(words)")
        }
    }

    private static var tooOld: RedisError {
        .tls(.versionTooOld, "the server speaks no version of TLS that this client accepts (1.2 is the oldest)")
    }

    /// What an alert of the server means (RFC 8446, section 6); OpenSSL reports each as a thousand and its number.
    private static func alert(_ reason: Int32, wasAsked: Bool, hasCertificate: Bool) -> RedisError? {
        let required = RedisError.tls(
            .certificateRequired,
            "the server requires a client certificate, and none is configured"
        )
        let number = reason - 1000
        guard (0..<256).contains(number) else { return nil }
        switch number {
        case 116: return required
        case 70, 71, 86: return tooOld
        case 112: return .tls(.wrongHost, "the server knows no host of this name (TLS alert 112)")
        // Before TLS 1.3 there is no alert of its own for a certificate that is missing.
        case 40, 41, 42, 46, 49:
            if wasAsked, !hasCertificate { return required }
        default: break
        }
        if hasCertificate, 42...49 ~= number {
            let message = "the server does not accept the client's certificate (TLS alert \(number))"
            return .tls(.certificateRefused, message)
        }
        return .tls(.handshake, "the server ended TLS with alert \(number)")
    }

    /// OpenSSL's words for an error.
    static func words(of error: UInt) -> String {
        if error == 0 { return "no reason is given" }
        // What the system has said, such as that there is no such file.
        if let reason = ERR_reason_error_string(error) { return String(cString: reason) }
        return "error \(error)"
    }
}
#endif
