extension CBORItem: SingleValueDecodingContainer {
    @inline(__always)
    private func present(_ type: any Any.Type) throws -> CBORReader {
        try checkPresence(of: type)
        return reader
    }

    @inline(__always)
    private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        try present(type).integer(type, at: place)
    }

    func decodeNil() -> Bool { isMissing || reader.isNull(place) }
    func decode(_ type: Bool.Type) throws -> Bool { try present(type).bool(at: place) }
    func decode(_ type: String.Type) throws -> String { try present(type).string(at: place) }
    func decode(_ type: Double.Type) throws -> Double { try present(type).double(at: place) }
    func decode(_ type: Float.Type) throws -> Float { try present(type).float(at: place) }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try present(type).decode(type, at: place) }
}
