/// A reply of the Redis protocol, version 2, as it came, for tests that must not use the library's client.
///
/// Source: Redis serialization protocol specification, <https://redis.io/docs/latest/develop/reference/protocol-spec/>.
public enum RawReply: Sendable, Hashable, CustomStringConvertible {
    /// A status such as `OK`.
    case status(String)
    /// An error; only inside an array: an error that is the whole reply is thrown.
    case error(String)
    /// A number.
    case integer(Int64)
    /// A string of bytes.
    case bulk([UInt8])
    /// The null string or the null array.
    case null
    /// A list of replies.
    case array([RawReply])

    /// The reply as text: a status, an error, a number or a string of bytes read as UTF-8 (repaired if it is
    /// ill-formed); empty for null; the texts of a list, one a line.
    public var text: String {
        switch self {
        case .status(let text), .error(let text): text
        case .integer(let number): String(number)
        case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
        case .null: ""
        case .array(let replies): replies.map(\.text).joined(separator: "\n")
        }
    }

    /// The number, also when it came as text; `nil` for anything else.
    public var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .bulk, .status: Int64(text)
        default: nil
        }
    }

    /// The members of a list; `nil` for anything else.
    public var elements: [RawReply]? {
        if case .array(let replies) = self { replies } else { nil }
    }

    /// A list of alternating names and values, as many commands answer, by name.
    public var fields: [String: RawReply] {
        guard let elements else { return [:] }
        var fields: [String: RawReply] = [:]
        for index in stride(from: 0, to: elements.count - 1, by: 2) {
            fields[elements[index].text] = elements[index + 1]
        }
        return fields
    }

    /// The text of the reply.
    public var description: String { text }
}
