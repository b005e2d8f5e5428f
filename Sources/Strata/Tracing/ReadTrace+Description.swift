extension ReadTrace: CustomStringConvertible {
    /// The account in a line: what was returned, and each step with its reason.
    ///
    /// ```text
    /// fresh from redis, 12 s old, in 1.2 ms: memory missed (changed elsewhere); redis hit in 1.1 ms; memory stored
    /// ```
    public var description: String {
        let account = steps.map(\.description).joined(separator: "; ")
        return account.isEmpty ? summary : "\(summary): \(account)"
    }

    /// What was returned, without the steps.
    private var summary: String {
        var parts = ["\(state)"]
        if state != .absent, let origin { parts[0] += " from \(origin)" }
        if let staleReason { parts[0] += " (\(staleReason))" }
        if let age, state != .absent { parts.append("\(age.brief) old") }
        parts.append("in \(duration.brief)")
        return parts.joined(separator: ", ")
    }
}

extension ReadTrace.Step: CustomStringConvertible {
    /// The level, what happened, and why.
    public var description: String {
        var text = "\(origin) \(verb)"
        if let whom { text += " for \(whom.isEmpty ? "an unnamed instance" : whom)" }
        if let reason { text += " (\(reason))" }
        if let error { text += " with \(error)" }
        if duration >= .microseconds(100) { text += " in \(duration.brief)" }
        return text
    }

    private var verb: String { event == .miss ? "missed" : event.description }
}

extension ReadTrace.State: CustomStringConvertible {
    /// The name of the state.
    public var description: String {
        switch self {
        case .fresh: "fresh"
        case .stale: "stale"
        case .suspect: "suspect"
        case .absent: "absent"
        }
    }
}
