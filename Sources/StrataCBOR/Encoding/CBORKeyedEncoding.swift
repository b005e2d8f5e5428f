/// Writes the pairs of a map straight into the output.
struct CBORKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: CBORSlot

    var codingPath: [any CodingKey] { slot.codingPath }

    /// Writes the key, and gives the writer for the value.
    @inline(__always)
    private func begin(_ key: some CodingKey) throws -> CBORWriter {
        try slot.writer.beginEntry(slot, key)
        return slot.writer
    }

    mutating func encodeNil(forKey key: Key) throws { try begin(key).output.byte(CBORByte.null) }
    mutating func encode(_ value: Bool, forKey key: Key) throws { try begin(key).bool(value) }
    mutating func encode(_ value: String, forKey key: Key) throws { try begin(key).output.text(value) }
    mutating func encode(_ value: Double, forKey key: Key) throws { try begin(key).double(value) }
    mutating func encode(_ value: Float, forKey key: Key) throws { try begin(key).float(value) }
    mutating func encode(_ value: Int, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: Int8, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: Int64, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: Int128, forKey key: Key) throws { try encodeWide(value, key) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { try begin(key).integer(value) }
    mutating func encode(_ value: UInt128, forKey key: Key) throws { try encodeWide(value, key) }

    private func encodeWide(_ value: some FixedWidthInteger, _ key: Key) throws {
        let writer = try begin(key)
        do { try writer.wideInteger(value, level: unsafe writer.top.pointee.level &+ 1) } catch {
            writer.abandonEntry(slot)
            throw error
        }
    }

    mutating func encode(_ value: some Encodable, forKey key: Key) throws {
        let writer = try begin(key)
        let level = unsafe writer.top.pointee.level &+ 1
        do {
            if try writer.encodeKnown(value, level: level) { return }
            try writer.encodeByItself(value, level: level)
        } catch {
            writer.abandonEntry(slot)
            throw error
        }
    }

    /// A slot of its own for the value of a key.
    private func child(for key: some CodingKey) -> CBORSlot {
        do {
            return try begin(key).child(of: slot)
        } catch {
            slot.writer.failure = slot.writer.misuse()
            return .closed(slot.writer)
        }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        child(for: key).container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(for: key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { child(for: CBORKey.super) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { child(for: key) }
}
