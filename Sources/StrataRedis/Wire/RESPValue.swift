/// A reply of the server, as RESP2 can express it.
///
/// An error inside an array (a failed command of a transaction, for example) is a value like any other; an error that
/// is the whole reply is thrown by the client as a ``RedisError``.
public enum RESPValue: Sendable, Hashable {
    /// No value: a null bulk string or a null array.
    case null
    /// A signed 64-bit integer.
    case integer(Int64)
    /// A short status such as `OK`.
    case status(String)
    /// A binary-safe string.
    case bytes([UInt8])
    /// A sequence of replies.
    case array([RESPValue])
    /// The text of an error, beginning with its code in capitals.
    case error(String)
    /// A binary-safe string of this many bytes, above ``ReplyLimits``; the bytes were skipped.
    ///
    /// Only inside an array; as the whole reply it is thrown as ``RedisError/Code/tooLarge``.
    case oversized(Int)
}

extension RESPValue {
    /// The bytes of a bulk string or a status; `nil` for everything else.
    public var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .status(let text): Array(text.utf8)
        default: nil
        }
    }

    /// The reply as text, with ill-formed UTF-8 repaired; `nil` for null, arrays and errors.
    public var string: String? {
        switch self {
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        case .status(let text): text
        case .integer(let value): String(value)
        default: nil
        }
    }

    /// The reply as an integer, also where the server sent it as decimal text.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .bytes(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
        default: nil
        }
    }

    /// The elements of an array; `nil` for everything else.
    public var array: [RESPValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// True for the null reply.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }
}
