/// Bytes from Redis as text that a terminal can show: nothing in them can act on the terminal, and the escape is
/// injective.
public enum PrintableText {
    /// Escapes control characters, backslashes, bidirectional controls and bytes that are no UTF-8 as `\xHH` and
    /// `\u{…}`.
    public static func escape(_ bytes: [UInt8]) -> String {
        var result = ""
        var decoder = UTF8()
        var iterator = bytes[...].makeIterator()
        var offset = 0
        decoding: while true {
            switch decoder.decode(&iterator) {
            case .scalarValue(let scalar):
                offset += UTF8.width(scalar)
                escape(scalar, into: &result)
            case .emptyInput:
                break decoding
            case .error:
                // Start over behind the first byte of the ill-formed run, so that each of its bytes is shown.
                result += hex(bytes[offset])
                offset += 1
                decoder = UTF8()
                iterator = bytes[offset...].makeIterator()
            }
        }
        return result
    }

    private static func escape(_ scalar: Unicode.Scalar, into result: inout String) {
        switch scalar.properties.generalCategory {
        case _ where scalar == "\\": result += "\\\\"
        case .control where scalar.value < 0x80: result += hex(UInt8(scalar.value))
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return "\\x" + (digits.count == 1 ? "0" : "") + digits
    }
}
