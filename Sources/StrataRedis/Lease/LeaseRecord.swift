internal import Strata

/// The value under a lease key: the holder of the lease, or the failure of the last fetch.
///
/// | form | bytes |
/// |---|---|
/// | held | `T`, a token of 16 random bytes, the holder's name; of a traced read also a space and its `traceparent` |
/// | failed | `F`, the number of failures in a row in decimal, `:`, what went wrong |
///
/// A release that knows nothing of traces takes the last part for the end of the name, which it only shows.
enum LeaseRecord: Sendable, Hashable {
    case held(token: [UInt8], holder: String, traceParent: TraceParent? = nil)
    case failed(attempts: Int, message: String)

    private static let heldMark = UInt8(ascii: "T")
    private static let failedMark = UInt8(ascii: "F")
    private static let tokenLength = 16
    /// Names and messages are cut to this many bytes.
    private static let longestText = 200
    /// The largest count of failures in a row.
    private static let mostAttempts = 1_000_000

    /// A record with a new token, for a holder of this name.
    ///
    /// - Parameters:
    ///   - holder: The name.
    ///   - traceParent: The span of the holder's read.
    /// - Returns: The record.
    static func new(holder: String, traceParent: TraceParent? = nil) -> LeaseRecord {
        var generator = SystemRandomNumberGenerator()
        // Each number costs a system call, whatever its size.
        let token = (0..<tokenLength / 8)
            .flatMap { _ in withUnsafeBytes(of: generator.next() as UInt64) { unsafe Array($0) } }
        return .held(token: token, holder: holder, traceParent: traceParent)
    }

    var bytes: [UInt8] {
        switch self {
        case .held(let token, let holder, let traceParent):
            [Self.heldMark] + token + holder.utf8.prefix(Self.longestText)
                + (traceParent.map { [UInt8(ascii: " ")] + $0.text.utf8 } ?? [])
        case .failed(let attempts, let message):
            [Self.failedMark] + Array("\(attempts):".utf8) + message.utf8.prefix(Self.longestText)
        }
    }

    /// Reads a record; `nil` when the bytes are none.
    ///
    /// Another program may have written them: texts are cut, and the number of failures is between 0 and a million.
    init?(_ bytes: [UInt8]) {
        let rest = bytes.dropFirst()
        switch bytes.first {
        case Self.heldMark where rest.count >= Self.tokenLength:
            let (name, traceParent) = Self.split(rest.dropFirst(Self.tokenLength))
            self = .held(token: Array(rest.prefix(Self.tokenLength)), holder: Self.text(name), traceParent: traceParent)
        case Self.failedMark:
            let number = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard !number.isEmpty, rest.dropFirst(number.count).first == UInt8(ascii: ":") else { return nil }
            // A number that does not fit is larger than the limit.
            let attempts = Int(String(decoding: number, as: UTF8.self)) ?? Self.mostAttempts
            let message = rest.dropFirst(number.count + 1)
            self = .failed(attempts: min(attempts, Self.mostAttempts), message: Self.text(message))
        default: return nil
        }
    }

    /// The holder's name, and the span behind it, if there is one.
    private static func split(_ bytes: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, traceParent: TraceParent?) {
        let name = bytes.dropLast(TraceParent.length + 1)
        guard bytes.count > TraceParent.length, bytes[name.endIndex] == UInt8(ascii: " "),
            let traceParent = TraceParent(bytes.suffix(TraceParent.length))
        else { return (bytes, nil) }
        return (name, traceParent)
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(longestText), as: UTF8.self)
    }
}
