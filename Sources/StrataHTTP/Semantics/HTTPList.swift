/// Lists in field values (RFC 9110 §5.6.1).
package enum HTTPList {
    /// The members of all the fields' lists, without spaces around them; empty ones are left out.
    package static func members(_ fields: [String]) -> [String] {
        fields.flatMap(split).map(\.trimmed).filter { !$0.isEmpty }
    }

    /// At commas that are not within quotes.
    ///
    /// By scalars, not by characters: a mark that follows a comma hides none.
    static func split(_ field: String) -> [Substring] {
        let field = field.unicodeScalars
        var parts: [Substring] = []
        var start = field.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in field.indices {
            let scalar = field[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted && scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                isQuoted.toggle()
            } else if scalar == "," && !isQuoted {
                parts.append(Substring(field[start..<index]))
                start = field.index(after: index)
            }
        }
        parts.append(Substring(field[start...]))
        return parts
    }
}
