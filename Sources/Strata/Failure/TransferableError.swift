/// An error of a source by which other processes, too, can tell what has failed.
///
/// What a source throws reaches every caller of its process as it is. Callers in other processes, who wait for the same
/// fetch or ask while it is not to be repeated, get a ``CacheError`` with the code ``CacheError/Code/sourceFailed``;
/// for an error that conforms to this protocol, ``CacheError/transferred`` has its code and detail.
///
/// ```swift
/// struct NotFound: TransferableError {
///     var transferCode: String { "not-found" }
/// }
///
/// do {
///     return try await products.require(id)
/// } catch is NotFound {
///     throw Abort(.notFound)
/// } catch let error as CacheError where error.transferred?.code == "not-found" {
///     throw Abort(.notFound)
/// }
/// ```
///
/// Code and detail lie in Redis for as long as the failure is remembered, and everybody who reads the keyspace can see
/// them: put no secrets in.
public protocol TransferableError: Error {
    /// What has failed, for programs: 1 to 64 letters, digits, `.`, `_` or `-` of ASCII. With any other, the error does
    /// not travel.
    var transferCode: String { get }
    /// More about it; cut to 100 bytes. Empty by default.
    var transferDetail: String { get }
}

extension TransferableError {
    /// Nothing.
    public var transferDetail: String { "" }
}

/// What is known of an error that was thrown in another process.
public struct TransferredError: Sendable, Hashable {
    /// The code that the error has given itself.
    public let code: String
    /// What the error has said beside; empty for nothing.
    public let detail: String

    private static let longestCode = 64
    private static let longestDetail = 100

    init?(code: String, detail: String) {
        guard (1...Self.longestCode).contains(code.utf8.count), code.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.code = code
        // Whole characters, none of which can make two lines of one.
        var cut = ""
        for scalar in detail.unicodeScalars {
            let shown = scalar.properties.generalCategory == .control ? " " : scalar
            guard cut.utf8.count + UTF8.width(shown) <= Self.longestDetail else { break }
            cut.unicodeScalars.append(shown)
        }
        self.detail = cut
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// What an error tells of itself; `nil` when it does not travel.
    ///
    /// One that has come from another process goes on.
    init?(_ error: any Error) {
        if let known = (error as? CacheError)?.transferred {
            self = known
        } else if let error = error as? any TransferableError {
            self.init(code: error.transferCode, detail: error.transferDetail)
        } else {
            return nil
        }
    }

    /// Reads what ``text(of:)`` has written, here or in another process.
    init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count > 1, parts[1].first == "[", parts[1].last == "]" else { return nil }
        self.init(code: String(parts[1].dropFirst().dropLast()), detail: parts.count > 2 ? String(parts[2]) : "")
    }

    /// What is written down of a failure for other processes: `NotFound`, or `NotFound [not-found] detail`.
    ///
    /// Of an error that has not opted in only its type is told: its text may hold what others must not read.
    package static func text(of error: any Error) -> String {
        let type = "\(type(of: error))"
        guard let told = TransferredError(error) else { return type }
        // Short enough that what follows is not cut off, and without spaces: the code comes after the first.
        let name = String(type.prefix { $0 != " " }.utf8.prefix(24)) ?? "error"
        return "\(name) [\(told.code)]" + (told.detail.isEmpty ? "" : " \(told.detail)")
    }
}
