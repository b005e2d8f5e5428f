/// An error of a source that other processes can recognise, too.
///
/// Every caller of a source's process gets the source's own error. Callers of other processes that wait for the same
/// fetch, or ask during its back-off, get a ``CacheError`` with the code ``CacheError/Code/sourceFailed``. For an error
/// that conforms to this protocol, ``CacheError/transferred`` has its code and detail.
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
/// Code and detail are in Redis for as long as the failure is remembered, and every user who reads the keyspace can see
/// them: do not put secrets in them.
public protocol TransferableError: Error {
    /// The kind of the error, for programs: 1 to 64 letters, digits, `.`, `_` or `-` of ASCII. With any other code, the
    /// error does not travel.
    var transferCode: String { get }
    /// More about it; cut to 100 bytes. Empty by default.
    var transferDetail: String { get }
}

extension TransferableError {
    /// Nothing.
    public var transferDetail: String { "" }
}

/// The known parts of an error that another process threw.
public struct TransferredError: Sendable, Hashable {
    /// The code that the error has given itself.
    public let code: String
    /// The detail of the error; empty for none.
    public let detail: String

    private static let longestCode = 64
    private static let longestDetail = 100

    init?(code: String, detail: String) {
        guard (1...Self.longestCode).contains(code.utf8.count), code.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.code = code
        // Whole characters, without line breaks.
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

    /// The parts of an error; `nil` when it does not travel.
    ///
    /// An error that came from another process travels on.
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
        // By scalars: a detail may begin with a mark that makes one character with the space before it.
        let parts = text.unicodeScalars.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count > 1, parts[1].first == "[", parts[1].last == "]" else { return nil }
        self.init(code: String(parts[1].dropFirst().dropLast()), detail: parts.count > 2 ? String(parts[2]) : "")
    }

    /// The record of a failure for other processes: `NotFound`, or `NotFound [not-found] detail`.
    ///
    /// An error that has not opted in shows only its type: its text may hold what others must not read.
    package static func text(of error: any Error) -> String {
        let type = "\(type(of: error))"
        guard let told = TransferredError(error) else { return type }
        // Short enough that what follows is not cut off, and without spaces: the code comes after the first.
        let name = String(type.prefix { $0 != " " }.utf8.prefix(24)) ?? "error"
        return "\(name) [\(told.code)]" + (told.detail.isEmpty ? "" : " \(told.detail)")
    }
}
