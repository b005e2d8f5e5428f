/// What a server answers to INFO and CLUSTER INFO: lines of a name and a value with a colon between them.
package enum ServerFields {
    /// The values by their names.
    ///
    /// Headings and lines without a colon are passed over. A value may have colons of its own.
    package static func read(_ text: String) -> [String: String] {
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return fields
    }
}
