/// Writes the elements of an array straight into the output.
struct CBORUnkeyedEncoding: UnkeyedEncodingContainer {
    let slot: CBORSlot

    var codingPath: [any CodingKey] { slot.codingPath }

    var count: Int {
        slot.writer.isCurrent(slot) ? unsafe slot.writer.top.pointee.count : 0
    }

    /// Counts an element that cannot fail.
    @inline(__always)
    private func next() throws -> CBORWriter {
        let writer = slot.writer
        guard writer.isCurrent(slot) else { throw writer.misuse() }
        unsafe writer.top.pointee.count &+= 1
        return writer
    }

    mutating func encodeNil() throws { try next().output.byte(CBORByte.null) }
    mutating func encode(_ value: Bool) throws { try next().bool(value) }
    mutating func encode(_ value: String) throws { try next().output.text(value) }
    mutating func encode(_ value: Double) throws { try next().double(value) }
    mutating func encode(_ value: Float) throws { try next().float(value) }
    mutating func encode(_ value: Int) throws { try next().integer(value) }
    mutating func encode(_ value: Int8) throws { try next().integer(value) }
    mutating func encode(_ value: Int16) throws { try next().integer(value) }
    mutating func encode(_ value: Int32) throws { try next().integer(value) }
    mutating func encode(_ value: Int64) throws { try next().integer(value) }
    mutating func encode(_ value: Int128) throws { try encodeWide(value) }
    mutating func encode(_ value: UInt) throws { try next().integer(value) }
    mutating func encode(_ value: UInt8) throws { try next().integer(value) }
    mutating func encode(_ value: UInt16) throws { try next().integer(value) }
    mutating func encode(_ value: UInt32) throws { try next().integer(value) }
    mutating func encode(_ value: UInt64) throws { try next().integer(value) }
    mutating func encode(_ value: UInt128) throws { try encodeWide(value) }

    private func encodeWide(_ value: some FixedWidthInteger) throws {
        let writer = slot.writer
        guard writer.isCurrent(slot) else { throw writer.misuse() }
        try writer.wideInteger(value, level: unsafe writer.top.pointee.level &+ 1)
        unsafe writer.top.pointee.count &+= 1
    }

    mutating func encode(_ value: some Encodable) throws {
        let writer = slot.writer
        guard writer.isCurrent(slot) else { throw writer.misuse() }
        let level = unsafe writer.top.pointee.level &+ 1
        if try !writer.encodeKnown(value, level: level) {
            try writer.encodeByItself(value, level: level)
        }
        // Counted last: until then the count is the element's index, for the coding path.
        unsafe writer.top.pointee.count &+= 1
    }

    /// A slot of its own for an element.
    private func child() -> CBORSlot {
        let writer = slot.writer
        guard writer.isCurrent(slot) else {
            writer.failure = writer.misuse()
            return .closed(writer)
        }
        let child = writer.child(of: slot)
        unsafe writer.top.pointee.count &+= 1
        return child
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        child().container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { child() }
}
