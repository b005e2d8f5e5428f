extension PrintableText {
    /// The bytes that ``escape(_:)`` was given; any text without a backslash stands for its own UTF-8.
    ///
    /// - Returns: `nil` when a backslash begins none of `\\`, `\xHH` and `\u{…}`.
    package static func unescape(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"):
                bytes.append(byte)
            case UInt8(ascii: "x"):
                guard rest.count >= 2, let value = number(rest.prefix(2)) else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: value))
                rest = rest.dropFirst(2)
            case UInt8(ascii: "u"):
                guard rest.popFirst() == UInt8(ascii: "{"), let end = rest.firstIndex(of: UInt8(ascii: "}")),
                    let scalar = number(rest[..<end]).flatMap(Unicode.Scalar.init)
                else { return nil }
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                rest = rest[end...].dropFirst()
            default:
                return nil
            }
        }
        return bytes
    }

    /// Hexadecimal digits as a number; no sign, and no more digits than a scalar has.
    private static func number(_ digits: Substring.UTF8View) -> UInt32? {
        guard (1...6).contains(digits.count), digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-")
        else {
            return nil
        }
        return UInt32(Substring(digits), radix: 16)
    }
}
