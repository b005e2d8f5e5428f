#if Crypto
internal import Crypto
public import Strata

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// How values are encrypted.
public enum Cipher: Sendable, Hashable {
    /// AES-256 in Galois counter mode (NIST SP 800-38D): the fastest where the processor has instructions for it.
    case aesGCM
    /// ChaCha20 and Poly1305 (RFC 8439): fast everywhere.
    case chaChaPoly
}

extension ByteStage {
    /// Authenticated encryption: without the secret a value cannot be read, changed, or moved to another key.
    ///
    /// The bytes are the secret's number (4 bytes, little-endian), a random nonce (12), the encrypted value and its tag
    /// (16). They are bound to the place of the value (in Redis its full key), its codec and its schema number.
    ///
    /// It does not hide the key, the length of the value, or when it was written. Nor does it prevent that an older
    /// value of the same key is put back.
    ///
    /// - Parameters:
    ///   - keys: The secrets. With random nonces each is good for 2³² values; change it long before that.
    ///   - cipher: How to encrypt.
    /// - Returns: A stage that throws `CacheError.Code.forged` for bytes that it did not seal for this place, and
    ///   `CacheError.Code.secret` for the number of a secret that it does not have.
    public static func encryption(with keys: KeyRing, cipher: Cipher = .aesGCM) -> ByteStage {
        switch cipher {
        case .aesGCM:
            sealing(1, "AES-GCM", keys) { bytes, key, bound in
                let box = try AES.GCM.seal(bytes, using: key, authenticating: bound)
                return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
            } open: { bytes, key, bound in
                let box = try AES.GCM.SealedBox(combined: bytes)
                return Array(try AES.GCM.open(box, using: key, authenticating: bound))
            }
        case .chaChaPoly:
            sealing(2, "ChaChaPoly", keys) { bytes, key, bound in
                Array(try ChaChaPoly.seal(bytes, using: key, authenticating: bound).combined)
            } open: { bytes, key, bound in
                let box = try ChaChaPoly.SealedBox(combined: bytes)
                return Array(try ChaChaPoly.open(box, using: key, authenticating: bound))
            }
        }
    }

    /// A signature: every user of the server can read a value, but cannot change it, or move it to another key, without
    /// the secret.
    ///
    /// The bytes are the secret's number (4 bytes, little-endian), HMAC-SHA-256 (RFC 2104, 32 bytes) and the value. The
    /// HMAC also covers the place, the codec and the schema number, as ``encryption(with:cipher:)`` does.
    ///
    /// - Parameter keys: The secrets.
    /// - Returns: A stage that throws `CacheError.Code.forged` for bytes that it did not sign for this place, and
    ///   `CacheError.Code.secret` for the number of a secret that it does not have.
    public static func signature(with keys: KeyRing) -> ByteStage {
        sealing(3, "HMAC-SHA-256", keys) { bytes, key, bound in
            Array(mac(bytes, key, bound)) + bytes
        } open: { bytes, key, bound in
            guard bytes.count >= 32 else { throw CryptoKitError.authenticationFailure }
            let value = Array(bytes[32...])
            let signature = Array(bytes[..<32])
            // Compared in constant time.
            guard mac(value, key, bound) == signature else { throw CryptoKitError.authenticationFailure }
            return value
        }
    }

    /// The length parts what is bound from the value, so that nothing can move from one to the other.
    private static func mac(_ bytes: [UInt8], _ key: SymmetricKey, _ bound: [UInt8]) -> HMAC<Crypto.SHA256>.MAC {
        var hash = HMAC<Crypto.SHA256>(key: key)
        hash.update(data: UInt64(bound.count).littleEndianBytes)
        hash.update(data: bound)
        hash.update(data: bytes)
        return hash.finalize()
    }

    private typealias Step = @Sendable (_ bytes: [UInt8], _ key: SymmetricKey, _ bound: [UInt8]) throws -> [UInt8]

    private static func sealing(
        _ identifier: UInt8,
        _ name: String,
        _ keys: KeyRing,
        seal: @escaping Step,
        open: @escaping Step
    ) -> ByteStage {
        ByteStage(identifier: identifier, name: name) { bytes, context in
            let number = keys.current.littleEndianBytes
            return number + (try seal(bytes, keys.key(keys.current, for: name), [identifier] + number + context))
        } undo: { bytes, context in
            guard bytes.count >= 4 else { throw forged }
            let number = Array(bytes[..<4])
            let key = try keys.key(UInt32(littleEndianBytes: number), for: name)
            do {
                return try open(Array(bytes[4...]), key, [identifier] + number + context)
            } catch {
                throw forged
            }
        }
    }

    /// Without a cause: the reason must not help an attacker.
    private static var forged: CacheError {
        CacheError(code: .forged, message: "the bytes were not sealed for this place, or were changed")
    }
}

extension Codec {
    /// This codec with its bytes encrypted; values that were written without encryption are not read.
    public func encrypted(with keys: KeyRing, cipher: Cipher = .aesGCM) -> Codec {
        protected(by: .encryption(with: keys, cipher: cipher))
    }

    /// This codec with its bytes signed; values that were written without a signature are not read.
    public func signed(with keys: KeyRing) -> Codec {
        protected(by: .signature(with: keys))
    }
}

extension FixedWidthInteger {
    var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
    }

    init(littleEndianBytes bytes: [UInt8]) {
        self = bytes.reversed().reduce(0) { $0 << 8 | Self($1) }
    }
}
#endif
