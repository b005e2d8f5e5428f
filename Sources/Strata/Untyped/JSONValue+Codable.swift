internal import StrataCBOR

extension JSONValue: Codable {
    /// Reads any value.
    ///
    /// - Throws: `DecodingError` for what is nested too deep.
    public init(from decoder: any Decoder) throws {
        if let item = try CBORValue(itemOf: decoder) {
            self = try JSONValue(item, at: decoder, depth: 0)
            return
        }
        let container = try decoder.singleValueContainer()
        if let scalar = Scalars.value(in: container) {
            self = scalar
        } else if let values = try? decoder.container(keyedBy: Name.self) {
            self = try Self.object(values, depth: 1)
        } else {
            self = try Self.array(decoder.unkeyedContainer(), depth: 1)
        }
    }

    private static func object(_ values: KeyedDecodingContainer<Name>, depth: Int) throws -> JSONValue {
        try check(depth, values.codingPath)
        var object = [String: JSONValue](minimumCapacity: values.allKeys.count)
        for name in values.allKeys {
            object[name.stringValue] =
                if let scalar = Scalars.value(in: values, name) {
                    scalar
                } else if let inner = try? values.nestedContainer(keyedBy: Name.self, forKey: name) {
                    try Self.object(inner, depth: depth + 1)
                } else {
                    try array(values.nestedUnkeyedContainer(forKey: name), depth: depth + 1)
                }
        }
        return .object(object)
    }

    private static func array(_ values: any UnkeyedDecodingContainer, depth: Int) throws -> JSONValue {
        try check(depth, values.codingPath)
        var values = values
        var array: [JSONValue] = []
        while !values.isAtEnd {
            if let scalar = Scalars.value(in: &values) {
                array.append(scalar)
            } else if let inner = try? values.nestedContainer(keyedBy: Name.self) {
                array.append(try object(inner, depth: depth + 1))
            } else {
                array.append(try Self.array(values.nestedUnkeyedContainer(), depth: depth + 1))
            }
        }
        return .array(array)
    }

    private static func check(_ depth: Int, _ path: @autoclosure () -> [any CodingKey]) throws {
        guard depth <= nestingLimit else {
            throw DecodingError.dataCorrupted(.init(codingPath: path(), debugDescription: "nested too deep"))
        }
    }

    /// Writes the value in the form that the format has for it.
    ///
    /// - Throws: `EncodingError` for what is nested too deep; a JSON encoder also for numbers that are not finite.
    public func encode(to encoder: any Encoder) throws { try Nested(value: self, depth: 0).encode(to: encoder) }

    /// A value inside others.
    private struct Nested: Encodable {
        let value: JSONValue
        let depth: Int

        func encode(to encoder: any Encoder) throws {
            switch value {
            case .array(let values):
                try check(encoder)
                var container = encoder.unkeyedContainer()
                for value in values { try container.encode(Nested(value: value, depth: depth + 1)) }
            case .object(let values):
                try check(encoder)
                var container = encoder.container(keyedBy: Name.self)
                for (name, value) in values {
                    try container.encode(Nested(value: value, depth: depth + 1), forKey: Name(stringValue: name))
                }
            default:
                var container = encoder.singleValueContainer()
                switch value {
                case .bool(let value): try container.encode(value)
                case .integer(let value): try container.encode(value)
                case .unsigned(let value): try container.encode(value)
                case .number(let value): try container.encode(value)
                case .string(let value): try container.encode(value)
                case .null, .array, .object: try container.encodeNil()
                }
            }
        }

        private func check(_ encoder: any Encoder) throws {
            guard depth < nestingLimit else {
                let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "nested too deep")
                // Without the value: errors end up in logs.
                throw EncodingError.invalidValue("JSONValue", context)
            }
        }
    }

    /// A key of an object.
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { return nil }
    }

    /// A value that is no list and no object; the kinds that documents have most are tried first.
    ///
    /// A number is tried as a `Double` before an integer without a sign: hardly any number needs that.
    private enum Scalars {
        static func value(in container: any SingleValueDecodingContainer) -> JSONValue? {
            if container.decodeNil() { return .null }
            if let value = try? container.decode(String.self) { return .string(value) }
            if let value = try? container.decode(Int64.self) { return .integer(value) }
            if let value = try? container.decode(Double.self) {
                return large(value)
                    ? (try? container.decode(UInt64.self)).map { .unsigned($0) } ?? .number(value)
                    : .number(value)
            }
            return (try? container.decode(Bool.self)).map { .bool($0) }
        }

        static func value(in container: KeyedDecodingContainer<Name>, _ name: Name) -> JSONValue? {
            if (try? container.decodeNil(forKey: name)) == true { return .null }
            if let value = try? container.decode(String.self, forKey: name) { return .string(value) }
            if let value = try? container.decode(Int64.self, forKey: name) { return .integer(value) }
            if let value = try? container.decode(Double.self, forKey: name) {
                return large(value)
                    ? (try? container.decode(UInt64.self, forKey: name)).map { .unsigned($0) } ?? .number(value)
                    : .number(value)
            }
            return (try? container.decode(Bool.self, forKey: name)).map { .bool($0) }
        }

        static func value(in container: inout any UnkeyedDecodingContainer) -> JSONValue? {
            if (try? container.decodeNil()) == true { return .null }
            if let value = try? container.decode(String.self) { return .string(value) }
            if let value = try? container.decode(Int64.self) { return .integer(value) }
            // Decoding goes on to the next element, so the rarer kind has to be tried first.
            if let value = try? container.decode(UInt64.self) { return .unsigned(value) }
            if let value = try? container.decode(Double.self) { return .number(value) }
            return (try? container.decode(Bool.self)).map { .bool($0) }
        }

        // The largest number without a sign is the nearest to 2⁶⁴.
        private static func large(_ value: Double) -> Bool { value >= 0x1p63 && value <= 0x1p64 }
    }
}

extension JSONValue {
    /// The JSON form of a CBOR item (RFC 8949 §6.1): byte strings become text in base64url, tags are passed
    /// over.
    ///
    /// - Throws: `DecodingError` for an object with keys that are neither texts nor integers.
    fileprivate init(_ item: CBORValue, at decoder: any Decoder, depth: Int) throws {
        switch item {
        case .null, .undefined, .simple: self = .null
        case .bool(let value): self = .bool(value)
        case .unsigned(let value): self = Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
        case .negative(let value):
            self = Int64(exactly: value).map { .integer(~$0) } ?? .number(-1 - Double(value))
        case .float(let value): self = .number(value)
        case .text(let value): self = .string(value)
        case .bytes(let value): self = .string(Self.base64URL(value))
        case .tagged(_, let content): self = try JSONValue(content, at: decoder, depth: depth)
        case .array(let elements):
            try Self.check(depth + 1, decoder.codingPath)
            self = .array(try elements.map { try JSONValue($0, at: decoder, depth: depth + 1) })
        case .map(let pairs):
            try Self.check(depth + 1, decoder.codingPath)
            var object = [String: JSONValue](minimumCapacity: pairs.count)
            for pair in pairs {
                let name: String
                switch pair.key {
                case .text(let text): name = text
                case .unsigned(let number): name = "\(number)"
                case .negative(let number): name = "\(-1 - Int128(number))"
                default:
                    let text = "a key is neither text nor an integer"
                    throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
                }
                object[name] = try JSONValue(pair.value, at: decoder, depth: depth + 1)
            }
            self = .object(object)
        }
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let some = bytes[start..<min(start + 3, bytes.count)]
            let word = some.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - some.count))
            for place in 0...some.count { text.append(alphabet[Int(word >> (18 - 6 * UInt32(place)) & 63)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
