/// What lies under a lease key: who fetches, or that the last fetch has failed and when it may be tried again.
///
/// | form | bytes |
/// |---|---|
/// | held | `T`, a token of 16 random bytes, the holder's name |
/// | failed | `F`, the number of failures in a row in decimal, `:`, what went wrong |
enum LeaseRecord: Sendable, Hashable {
    case held(token: [UInt8], holder: String)
    case failed(attempts: Int, message: String)

    private static let heldMark = UInt8(ascii: "T")
    private static let failedMark = UInt8(ascii: "F")
    private static let tokenLength = 16
    /// What went wrong is cut to this many bytes.
    private static let longestMessage = 200

    /// A record with a new token, for a holder of this name.
    static func new(holder: String) -> LeaseRecord {
        var generator = SystemRandomNumberGenerator()
        // Each number asked for is a system call, whatever its size.
        let token = (0..<tokenLength / 8)
            .flatMap { _ in withUnsafeBytes(of: generator.next() as UInt64) { unsafe Array($0) } }
        return .held(token: token, holder: holder)
    }

    var bytes: [UInt8] {
        switch self {
        case .held(let token, let holder): [Self.heldMark] + token + holder.utf8.prefix(Self.longestMessage)
        case .failed(let attempts, let message):
            [Self.failedMark] + Array("\(attempts):".utf8) + message.utf8.prefix(Self.longestMessage)
        }
    }

    /// Reads a record; `nil` when the bytes are none.
    init?(_ bytes: [UInt8]) {
        let rest = bytes.dropFirst()
        switch bytes.first {
        case Self.heldMark where rest.count >= Self.tokenLength:
            self = .held(
                token: Array(rest.prefix(Self.tokenLength)),
                holder: String(decoding: rest.dropFirst(Self.tokenLength), as: UTF8.self)
            )
        case Self.failedMark:
            guard let colon = rest.firstIndex(of: UInt8(ascii: ":")),
                let attempts = Int(String(decoding: rest[..<colon], as: UTF8.self))
            else { return nil }
            self = .failed(attempts: attempts, message: String(decoding: rest[(colon + 1)...], as: UTF8.self))
        default: return nil
        }
    }
}
