/// A fault of a CBOR document itself: it is not well-formed, breaks a limit, or repeats a key.
///
/// A document that is sound but does not fit the type asked for gives a `DecodingError`, and a value that cannot be
/// encoded an `EncodingError`, as `Codable` users expect.
///
/// `description` tells the code, the place and what was expected there, and shows nothing of the payload. Map keys may
/// be user data too, so that ``codingPath`` has to be asked for.
public struct CBORError: Error, Sendable, CustomStringConvertible {
    /// The kinds of faults.
    ///
    /// New ones may be added: give a `switch` over them a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case truncated, malformed, trailingBytes, duplicateKey, invalidText
            case tooDeep, tooLarge, tooManyElements, stringTooLong
        }

        private let kind: Kind

        /// The document ends inside an item.
        public static let truncated = Code(kind: .truncated)
        /// The bytes are not well-formed CBOR (RFC 8949 appendix F).
        public static let malformed = Code(kind: .malformed)
        /// Something follows the one item of the document.
        public static let trailingBytes = Code(kind: .trailingBytes)
        /// A map holds a key twice.
        public static let duplicateKey = Code(kind: .duplicateKey)
        /// A text string is not UTF-8.
        public static let invalidText = Code(kind: .invalidText)
        /// The nesting exceeds ``CBORLimits/depth``.
        public static let tooDeep = Code(kind: .tooDeep)
        /// The document is longer than ``CBORLimits/bytes``.
        public static let tooLarge = Code(kind: .tooLarge)
        /// The arrays and maps exceed ``CBORLimits/elements``.
        public static let tooManyElements = Code(kind: .tooManyElements)
        /// A string exceeds ``CBORLimits/stringBytes``.
        public static let stringTooLong = Code(kind: .stringTooLong)

        /// The name of the code.
        public var description: String { kind.rawValue }
    }

    /// What kind of fault it is.
    public let code: Code

    /// What is wrong, for a person; it holds nothing of the payload.
    public let message: String

    /// Where in the document the fault was met, in bytes from its start.
    public let byteOffset: Int

    /// The keys and indices that lead to the place.
    ///
    /// Keys come from the document and may be user data.
    public internal(set) var codingPath: [any CodingKey]

    init(_ code: Code, at byteOffset: Int, _ message: String, codingPath: [any CodingKey] = []) {
        self.code = code
        self.message = message
        self.byteOffset = byteOffset
        self.codingPath = codingPath
    }

    /// The code, the place and the message, without any payload.
    public var description: String {
        "CBORError(\(code) at byte \(byteOffset): \(message))"
    }

    /// The same fault, seen from the container around it.
    func within(_ key: CBORKey) -> CBORError {
        var error = self
        error.codingPath.insert(key, at: 0)
        return error
    }
}
