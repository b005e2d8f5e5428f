/// The place of one value in the output: the encoder that the value's `encode(to:)` gets.
///
/// It fits into an existential without an allocation.
struct CBORSlot: Encoder {
    let writer: CBORWriter
    /// The index of the value's frame.
    let index: Int32
    /// The serial of the value's frame: a slot that outlived its value matches none.
    let serial: UInt32

    var codingPath: [any CodingKey] { writer.path(to: self) }

    var userInfo: [CodingUserInfoKey: Any] { writer.encoder.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(CBORKeyedEncoding<Key>(slot: writer.begin(.map, in: self)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        CBORUnkeyedEncoding(slot: writer.begin(.array, in: self))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

    /// A slot that takes nothing.
    static func closed(_ writer: CBORWriter) -> CBORSlot {
        CBORSlot(writer: writer, index: .max, serial: 0)
    }
}

extension CBORWriter {
    /// Makes a value a map or an array, if it is not yet something else.
    ///
    /// - Returns: The slot; or one that takes nothing, since the caller cannot throw.
    func begin(_ form: Frame.Form, in slot: CBORSlot) -> CBORSlot {
        guard isCurrent(slot) else {
            failure = misuse()
            return .closed(self)
        }
        let frame = unsafe top
        if unsafe frame.pointee.form == form { return slot }
        guard unsafe frame.pointee.form == .empty else {
            failure = misuse()
            return .closed(self)
        }
        guard unsafe frame.pointee.level < levelLimit else {
            failure = failure ?? tooDeep()
            return .closed(self)
        }
        unsafe frame.pointee.form = form
        // The head goes here when the count is known.
        output.byte(0)
        return slot
    }

    /// Opens a writer of its own for a value that may be filled later than what follows it.
    ///
    /// The caller has written the key, or counts the element.
    func child(of slot: CBORSlot) -> CBORSlot {
        let frame = unsafe top.pointee
        let index = frame.form == .map ? entries.count - 1 : frame.count
        let writer = CBORWriter(for: Origin(slot: slot, index: index))
        children.append(Child(place: output.count, writer: writer))
        return writer.open(level: frame.level + 1)
    }
}
