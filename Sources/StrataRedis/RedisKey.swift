/// The name of a key in Redis: any bytes, sent by length.
public struct RedisKey: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes of the name.
    public let bytes: [UInt8]

    /// A key of these bytes.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A key of the bytes of a sequence, such as `Data`.
    public init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// A key of the UTF-8 bytes of `text`.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// A key of the UTF-8 bytes of a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The name as text that is safe to print: control characters and ill-formed UTF-8 are escaped.
    public var description: String { PrintableText.escape(bytes) }
}
