extension JSONValue {
    /// Whether it is nothing.
    public var isNull: Bool { self == .null }

    /// The truth value; `nil` for anything else.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The whole number, if it fits; `nil` for anything else.
    public var integer: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .unsigned(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number, whole ones too, as the nearest `Double`; `nil` for anything else.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The text; `nil` for anything else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The list; `nil` for anything else.
    public var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

    /// The values by their keys; `nil` for anything else.
    public var object: [String: JSONValue]? { if case .object(let values) = self { values } else { nil } }

    /// The value of a key of an object; `nil` where there is none, and for anything but an object.
    ///
    /// Setting `nil` removes the key. Setting a value makes anything else an object with that key alone.
    public subscript(key: String) -> JSONValue? {
        get { object?[key] }
        set {
            var values = object ?? [:]
            guard newValue != nil || object != nil else { return }
            // Released first, or the dictionary would be copied.
            self = .null
            values[key] = newValue
            self = .object(values)
        }
    }

    /// An element of a list; `nil` where there is none, and for anything but a list.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// ``null``.
    public init(nilLiteral: ()) { self = .null }

    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A number that is not whole by its kind.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A list.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object; of a key that is named twice the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
