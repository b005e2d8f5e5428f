/// Reads the values of a map by key.
struct CBORKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: CBORReader
    /// The map's own number.
    private let map: Int

    init(reader: CBORReader, place: CBORReader.Place) throws {
        let inner = reader.untagged(place)
        guard reader.major(inner.offset) == CBORMajor.map else { throw reader.mismatch([String: Any].self, at: place) }
        self.reader = reader
        map = inner.container
    }

    private var record: CBORReader.Container { unsafe reader.containers.base[map] }

    var codingPath: [any CodingKey] { reader.path(to: Int(record.start)) }

    var allKeys: [Key] {
        var keys: [Key] = []
        keys.reserveCapacity(Int(record.count))
        for index in record.pairs {
            guard let key = unsafe reader.codingKey(of: reader.entries.base[index]) else {
                // Text that is not UTF-8 must not be left out in silence: nothing is found under this key, which is an
                // error.
                let isText = unsafe reader.entries.base[index].isText
                if isText, let missing = Key(stringValue: "\u{FFFD}") { keys.append(missing) }
                continue
            }
            if let number = key.intValue, let found = Key(intValue: number) {
                keys.append(found)
            } else if let found = Key(stringValue: key.stringValue) {
                keys.append(found)
            }
        }
        return keys
    }

    // MARK: Finding

    /// The place of a key's value, or `nil`.
    @inline(__always)
    private func place(_ key: some CodingKey) -> CBORReader.Place? {
        var name = key.stringValue
        var found = name.withUTF8 { unsafe reader.find($0, in: map) }
        if unsafe found == nil && record.hasIntegerKeys, let number = key.intValue {
            unsafe found = reader.find(number, in: map)
        }
        guard let entry = unsafe found?.pointee else { return nil }
        return CBORReader.Place(offset: Int(entry.value), container: Int(entry.container))
    }

    @inline(__always)
    private func existing(_ key: some CodingKey) throws -> CBORReader.Place {
        guard let place = place(key) else { throw missing(key) }
        return place
    }

    private func missing(_ key: some CodingKey) -> DecodingError {
        .keyNotFound(key, .init(codingPath: codingPath, debugDescription: "The map does not have the key."))
    }

    /// The place of a key's value unless that is null.
    @inline(__always)
    private func present(_ key: Key) -> CBORReader.Place? {
        guard let place = place(key), !reader.isNull(place) else { return nil }
        return place
    }

    @inline(__always)
    private func integer<Number: FixedWidthInteger>(_ type: Number.Type, _ key: Key) throws -> Number {
        try reader.integer(type, at: existing(key))
    }

    @inline(__always)
    private func integerIfPresent<Number: FixedWidthInteger>(_ type: Number.Type, _ key: Key) throws -> Number? {
        try present(key).map { try reader.integer(type, at: $0) }
    }

    func contains(_ key: Key) -> Bool { place(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try reader.isNull(existing(key)) }

    // MARK: Values

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try reader.bool(at: existing(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try reader.string(at: existing(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try reader.double(at: existing(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try reader.float(at: existing(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try reader.decode(type, at: existing(key))
    }

    // MARK: Values that may be missing

    // The default implementations look a key up three times.

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map { try reader.bool(at: $0) }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try present(key).map { try reader.string(at: $0) }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try reader.double(at: $0) }
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try present(key).map { try reader.float(at: $0) }
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try integerIfPresent(type, key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try present(key).map { try reader.decode(type, at: $0) }
    }

    // MARK: Containers

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(try CBORKeyedDecoding<NestedKey>(reader: reader, place: existing(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try CBORUnkeyedDecoding(reader: reader, place: existing(key))
    }

    func superDecoder() throws -> any Decoder {
        guard let place = place(CBORKey.super) else {
            let own = CBORReader.Place(offset: Int(record.start), container: map)
            return CBORItem(reader: reader, place: own, isMissing: true)
        }
        return CBORItem(reader: reader, place: place)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        CBORItem(reader: reader, place: try existing(key))
    }
}
