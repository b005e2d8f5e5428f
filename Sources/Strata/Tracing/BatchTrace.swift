/// The account of a read of several keys: one of each key.
public struct BatchTrace: Sendable, Hashable, CustomStringConvertible {
    /// The accounts of the keys, in their order.
    ///
    /// A key that is named twice has the same account in both places. `duration` is that of the whole read.
    public let traces: [ReadTrace]
    /// How long the whole read took.
    public let duration: Duration

    /// What was found where, in a line; below it a line for each key, with its number and without the key.
    ///
    /// Of keys with the same account only the first is shown, with how many there are.
    public var description: String {
        var lines: [(text: String, number: Int, count: Int)] = []
        var places: [String: Int] = [:]
        for (number, trace) in traces.enumerated() {
            let text = trace.untimed
            if let place = places[text] {
                lines[place].count += 1
            } else {
                places[text] = lines.count
                lines.append((text, number, 1))
            }
        }
        let head = "\(traces.count) keys in \(duration.brief): \(summary)"
        let rest = lines.map { line in
            "  [\(line.number)]\(line.count > 1 ? " and \(line.count - 1) more" : "") \(line.text)"
        }
        return ([head] + rest).joined(separator: "\n")
    }

    /// How many were found in which state and where.
    private var summary: String {
        let kinds = traces.map { trace in
            trace.state == .absent ? "absent" : "\(trace.state)\(trace.origin.map { " from \($0)" } ?? "")"
        }
        return Dictionary(grouping: kinds) { $0 }
            .map { (kind: $0.key, count: $0.value.count) }
            .sorted { ($1.count, $0.kind) < ($0.count, $1.kind) }
            .map { "\($0.count) \($0.kind)" }
            .joined(separator: ", ")
    }
}

extension ReadTrace {
    /// The account without times, which differ from key to key.
    fileprivate var untimed: String {
        let steps = steps.map { Step($0.event, $0.origin, .zero, whom: $0.whom, error: $0.error, reason: $0.reason) }
        let account = steps.map(\.description).joined(separator: "; ")
        let place = state == .absent ? "" : origin.map { " from \($0)" } ?? ""
        let head = "\(state)\(place)\(staleReason.map { " (\($0))" } ?? "")"
        return account.isEmpty ? head : "\(head): \(account)"
    }
}
