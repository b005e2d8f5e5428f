/// Reads the elements of an array one after the other.
///
/// It fits into an existential without an allocation.
struct CBORUnkeyedDecoding: UnkeyedDecodingContainer {
    let reader: CBORReader
    /// The array's own number.
    private let array: UInt32
    private var index: UInt32 = 0
    private var nextOffset: UInt32
    private var nextContainer: UInt32

    init(reader: CBORReader, place: CBORReader.Place) throws {
        let inner = reader.untagged(place)
        guard reader.major(inner.offset) == CBORMajor.array else { throw reader.mismatch([Any].self, at: place) }
        self.reader = reader
        array = UInt32(truncatingIfNeeded: inner.container)
        nextOffset = unsafe reader.containers.base[inner.container].content
        nextContainer = array + 1
    }

    private var record: CBORReader.Container { unsafe reader.containers.base[Int(array)] }

    var codingPath: [any CodingKey] { reader.path(to: Int(record.start)) }
    var count: Int? { Int(record.count) }
    var isAtEnd: Bool { index >= record.count }
    var currentIndex: Int { Int(index) }

    /// The place of the next element.
    @inline(__always)
    private func next(_ type: any Any.Type) throws -> CBORReader.Place {
        let record = unsafe reader.containers.base + Int(array)
        guard unsafe index < record.pointee.count else { throw atEnd(type) }
        // For the coding path, should the element be refused.
        unsafe record.pointee.position = nextOffset
        unsafe record.pointee.cursor = index
        unsafe record.pointee.note = nextContainer
        return CBORReader.Place(offset: Int(nextOffset), container: Int(nextContainer))
    }

    private func atEnd(_ type: any Any.Type) -> DecodingError {
        .valueNotFound(
            type,
            .init(
                codingPath: codingPath + [CBORKey(index: Int(index))],
                debugDescription: "The array has no more elements."
            )
        )
    }

    /// Goes on behind an element.
    @inline(__always)
    private mutating func advance(behind place: CBORReader.Place) {
        let following = reader.following(place)
        nextOffset = UInt32(truncatingIfNeeded: following.offset)
        nextContainer = UInt32(truncatingIfNeeded: following.container)
        index &+= 1
    }

    @inline(__always)
    private mutating func read<Value>(
        _ type: any Any.Type,
        _ body: (CBORReader, CBORReader.Place) throws -> Value
    ) throws -> Value {
        let place = try next(type)
        let value = try body(reader, place)
        advance(behind: place)
        return value
    }

    @inline(__always)
    private mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        try read(type) { try $0.integer(type, at: $1) }
    }

    mutating func decodeNil() throws -> Bool {
        let place = try next(Any?.self)
        guard reader.isNull(place) else { return false }
        advance(behind: place)
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type) { try $0.bool(at: $1) } }
    mutating func decode(_ type: String.Type) throws -> String { try read(type) { try $0.string(at: $1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try read(type) { try $0.double(at: $1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try read(type) { try $0.float(at: $1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try read(type) { try $0.decode(type, at: $1) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let reading = try read([String: Any].self) { try CBORKeyedDecoding<NestedKey>(reader: $0, place: $1) }
        return KeyedDecodingContainer(reading)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try read([Any].self) { try CBORUnkeyedDecoding(reader: $0, place: $1) }
    }

    mutating func superDecoder() throws -> any Decoder {
        try read((any Decoder).self) { CBORItem(reader: $0, place: $1) }
    }
}
