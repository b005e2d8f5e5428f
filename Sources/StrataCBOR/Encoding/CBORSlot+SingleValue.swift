extension CBORSlot: SingleValueEncodingContainer {
    /// Claims the slot for its one value.
    @inline(__always)
    private func fill() throws -> CBORWriter {
        guard writer.isCurrent(self), unsafe writer.top.pointee.form == .empty else { throw writer.misuse() }
        unsafe writer.top.pointee.form = .value
        return writer
    }

    func encodeNil() throws { try fill().output.byte(CBORByte.null) }
    func encode(_ value: Bool) throws { try fill().bool(value) }
    func encode(_ value: String) throws { try fill().output.text(value) }
    func encode(_ value: Double) throws { try fill().double(value) }
    func encode(_ value: Float) throws { try fill().float(value) }
    func encode(_ value: Int) throws { try fill().integer(value) }
    func encode(_ value: Int8) throws { try fill().integer(value) }
    func encode(_ value: Int16) throws { try fill().integer(value) }
    func encode(_ value: Int32) throws { try fill().integer(value) }
    func encode(_ value: Int64) throws { try fill().integer(value) }
    func encode(_ value: Int128) throws { try encodeWide(value) }
    func encode(_ value: UInt) throws { try fill().integer(value) }
    func encode(_ value: UInt8) throws { try fill().integer(value) }
    func encode(_ value: UInt16) throws { try fill().integer(value) }
    func encode(_ value: UInt32) throws { try fill().integer(value) }
    func encode(_ value: UInt64) throws { try fill().integer(value) }
    func encode(_ value: UInt128) throws { try encodeWide(value) }

    private func encodeWide(_ value: some FixedWidthInteger) throws {
        let writer = try fill()
        do { try writer.wideInteger(value, level: unsafe writer.top.pointee.level) } catch {
            writer.reset()
            throw error
        }
    }

    func encode(_ value: some Encodable) throws {
        let writer = try fill()
        let level = unsafe writer.top.pointee.level
        do {
            if try writer.encodeKnown(value, level: level) { return }
            // The value takes this very slot, and may make it a container.
            unsafe writer.top.pointee.form = .empty
            try writer.call(value, with: self)
        } catch {
            if writer.isCurrent(self) { writer.reset() }
            throw error
        }
    }
}
