/// A value without a type: what JSON can hold.
///
/// For values whose form is not known when the service is built: documents of customers, answers that are only passed
/// on.
///
/// ```swift
/// let documents = MemoryLevel<String, JSONValue>(limit: .entries(10_000))
///     .compose(RedisLevel(redis, keyspace: "documents", codec: .cbor))
///
/// try await documents.set(["title": "Tea", "price": 349, "tags": ["green", "loose"]], for: "tea")
/// let price = try await documents.get("tea")?["price"]?.integer
/// ```
///
/// Integers are exact within 64 bits, with and without a sign; other numbers are a `Double`. CBOR keeps apart what JSON
/// writes alike: there `1` and `1.0` come back as what they were, and as JSON both come back as the integer. A JSON
/// number that neither 64 bits nor a `Double` can hold exactly becomes the nearest `Double`. The order of an object's
/// keys is not kept.
///
/// It nests ``nestingLimit`` deep at most: deeper ones are neither read nor written.
public enum JSONValue: Sendable {
    /// Nothing.
    case null
    /// A truth value.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A whole number that is too large for ``integer(_:)``; a smaller one is the same as ``integer(_:)``.
    case unsigned(UInt64)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// Values by their keys.
    case object([String: JSONValue])

    /// How many lists and objects may stand around a value: 128.
    public static let nestingLimit = 128

    /// A whole number of any type; `nil` for one that 64 bits do not hold.
    public init?(exactly number: some BinaryInteger) {
        if let number = Int64(exactly: number) {
            self = .integer(number)
        } else if let number = UInt64(exactly: number) {
            self = .unsigned(number)
        } else {
            return nil
        }
    }
}

extension JSONValue: Hashable {
    /// Whether both are the same: numbers of the same kind and value, `1` and `1.0` are not.
    public static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.unsigned(let one), .unsigned(let other)): one == other
        case (.integer(let one), .unsigned(let other)), (.unsigned(let other), .integer(let one)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(Int128(value))
        case .unsigned(let value): hasher.combine(Int128(value))
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .object(let values): hasher.combine(values)
        }
    }
}
