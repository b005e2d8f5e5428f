/// The last stop before a terminal: what could act on it becomes an escape, wherever it came from.
///
/// Text from Redis is escaped by `PrintableText` before it gets here; this one catches what was forgotten, and leaves
/// backslashes alone.
enum ControlCharacters {
    /// `text` with what acts on a terminal as `\u{…}`.
    static func escaped(_ text: String) -> String {
        replacing(in: text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// JSON text with the same characters as `\uXXXX` (RFC 8259 §7), except the ends of lines between its tokens.
    ///
    /// The characters can only stand inside strings, so the document stays the same.
    static func escapedJSON(_ document: String) -> String {
        replacing(in: document) { scalar in
            scalar == "\n" ? "\n" : UTF16.encode(scalar).map { $0.map(fourDigits).joined() } ?? ""
        }
    }

    /// Whether a character is invisible, moves the cursor, changes the direction of text or means nothing yet.
    static func contains(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func replacing(in text: String, with escape: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: contains) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if contains(scalar) { result += escape(scalar) } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }

    private static func fourDigits(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
