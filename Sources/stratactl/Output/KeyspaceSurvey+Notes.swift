import StrataRedis

extension KeyspaceSurvey {
    /// Lines for the standard error output: that nothing was found, and what was left out.
    ///
    /// - Parameter prefix: The prefix whose keyspaces were looked for; `nil` for all.
    /// - Returns: The lines; none when everything is shown.
    func notes(under prefix: String?) -> [String] {
        var notes: [String] = []
        if rows.isEmpty, let prefix {
            let name = PrintableText.escape(Array(prefix.utf8))
            notes.append("stratactl: no keyspace holds anything under the prefix \(name); --all-prefixes looks at all")
        }
        if keysPassedOver > 0 {
            notes.append(
                "stratactl: only the first \(rows.count) keyspaces are listed; "
                    + "\(Quantity.text(keysPassedOver, "key")) of others were passed over"
            )
        }
        return notes
    }
}
