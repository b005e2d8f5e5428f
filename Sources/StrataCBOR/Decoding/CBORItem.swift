/// One item of a document: the decoder that a value's `init(from:)` gets.
///
/// It fits into an existential without an allocation.
struct CBORItem: Decoder {
    let reader: CBORReader
    let offset: UInt32
    let container: UInt32
    /// Whether the item stands for the value of the key "super" that the map at the offset does not have.
    ///
    /// It reads as null, which is what the standard coders make of it.
    let isMissing: Bool

    init(reader: CBORReader, place: CBORReader.Place, isMissing: Bool = false) {
        self.reader = reader
        offset = UInt32(truncatingIfNeeded: place.offset)
        container = UInt32(truncatingIfNeeded: place.container)
        self.isMissing = isMissing
    }

    var place: CBORReader.Place {
        CBORReader.Place(offset: Int(offset), container: Int(container))
    }

    var codingPath: [any CodingKey] {
        reader.path(to: Int(offset)) + (isMissing ? [CBORKey.super] : [])
    }

    var userInfo: [CodingUserInfoKey: Any] { reader.decoder.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try checkPresence(of: [String: Any].self)
        return KeyedDecodingContainer(try CBORKeyedDecoding<Key>(reader: reader, place: place))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try checkPresence(of: [Any].self)
        return try CBORUnkeyedDecoding(reader: reader, place: place)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        self
    }

    @inline(__always)
    func checkPresence(of type: any Any.Type) throws {
        guard !isMissing else {
            throw DecodingError.valueNotFound(
                type,
                .init(codingPath: codingPath, debugDescription: "Expected \(type), but the map has no such key.")
            )
        }
    }
}
