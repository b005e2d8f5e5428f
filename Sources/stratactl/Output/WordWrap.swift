/// Text broken between words.
enum WordWrap {
    /// Narrower than this, text is left to the terminal.
    private static let narrowest = 12

    /// The text in lines no wider than `width`, but for single words that are.
    ///
    /// - Parameters:
    ///   - text: One line.
    ///   - width: How many columns there are; `nil` for any number.
    /// - Returns: At least one line.
    static func lines(_ text: String, within width: Int?) -> [String] {
        guard let width, width >= narrowest, DisplayWidth.of(text) > width else { return [text] }
        var lines: [String] = []
        var line = ""
        var used = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let needed = DisplayWidth.of(String(word))
            if used > 0, used + 1 + needed > width {
                lines.append(line)
                (line, used) = (String(word), needed)
            } else {
                line += (line.isEmpty ? "" : " ") + word
                used += (used == 0 ? 0 : 1) + needed
            }
        }
        lines.append(line)
        return lines
    }
}
