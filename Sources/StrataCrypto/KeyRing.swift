#if Crypto
internal import Crypto
public import Strata

/// The secrets of a service, each with a number: the current one, and older ones that still open the values that they
/// sealed.
///
/// To change the secret, first add a new one under a new number in all instances, then make it the current one:
///
/// ```swift
/// let keys = try KeyRing(using: 2, [1: oldSecret, 2: newSecret])
/// let codec = Codec<Product>.cbor.encrypted(with: keys)
/// ```
///
/// When the last value of an old secret has expired, drop it.
public struct KeyRing: Sendable, CustomStringConvertible {
    /// The number of the secret by which values are sealed.
    public let current: UInt32
    private let secrets: [UInt32: SymmetricKey]

    /// A ring of secrets.
    ///
    /// - Parameters:
    ///   - current: The number of the one to use.
    ///   - secrets: All secrets by their numbers, 32 random bytes each.
    /// - Throws: `CacheError.Code.secret` when a secret has another length, or the current one is missing.
    public init(using current: UInt32, _ secrets: [UInt32: [UInt8]]) throws {
        guard secrets[current] != nil else {
            throw CacheError(code: .secret, message: "there is no secret with number \(current)")
        }
        for (number, secret) in secrets where secret.count != 32 {
            throw CacheError(code: .secret, message: "secret \(number) has \(secret.count) bytes instead of 32")
        }
        self.current = current
        self.secrets = secrets.mapValues { SymmetricKey(data: $0) }
    }

    /// The secret for one use: no two uses share a key.
    func key(_ number: UInt32, for use: String) throws -> SymmetricKey {
        guard let secret = secrets[number] else {
            throw CacheError(code: .secret, message: "there is no secret with number \(number)")
        }
        return HKDF<Crypto.SHA256>
            .deriveKey(inputKeyMaterial: secret, info: Array("strata \(use)".utf8), outputByteCount: 32)
    }

    /// The number of secrets and the current one's number, without a secret.
    public var description: String { "\(secrets.count) secrets, using \(current)" }
}

extension CacheError.Code {
    /// A secret is missing or has the wrong length.
    public static let secret = CacheError.Code(description: "secret")
    /// The bytes were not sealed by this secret for this place, or have been changed since.
    public static let forged = CacheError.Code(description: "forged")
}
#endif
