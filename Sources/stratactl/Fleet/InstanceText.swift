import StrataRedis

/// What an instance tells of itself, in words for a terminal.
enum InstanceText {
    /// Its name; its number where it has told none.
    static func name(of instance: FleetInstance) -> String {
        guard let record = instance.record, !record.name.isEmpty else { return instance.number }
        return printable(record.name)
    }

    static func printable(_ text: String) -> String { PrintableText.escape(Array(text.utf8.prefix(200))) }

    /// In whole seconds: that is how long it ran when it wrote the record, which it does every few seconds.
    static func uptime(of record: InstanceRecord) -> String {
        record.uptime < 1000 ? "0 s" : TimeSpan.text(seconds: Double(record.uptime / 1000))
    }

    /// What is wrong with it, if anything.
    static func state(of instance: FleetInstance) -> String {
        switch instance.content {
        case .missing: return "has no record"
        case .unusable: return "its record cannot be read"
        case .record(let record):
            let figures = InstanceFigures(record)
            var troubles = breakers("open", figures.openBreakers)
            if figures.isUntrusted { troubles.append("does not hear of changes") }
            if figures.pendingInvalidations > 0 {
                troubles.append("\(Quantity.text(figures.pendingInvalidations, "invalidation")) not sent")
            }
            // No trouble by itself: a role that is not used after an outage stays so.
            return ((troubles.isEmpty ? ["ok"] : troubles) + breakers("half open", figures.halfOpenBreakers))
                .joined(separator: ", ")
        }
    }

    private static func breakers(_ state: String, _ roles: [String]) -> [String] {
        roles.isEmpty ? [] : ["breaker \(state): \(roles.joined(separator: " "))"]
    }

    /// The shares of hits by level, such as `memory 92 %, redis 40 %`.
    static func hits(of figures: InstanceFigures) -> String {
        let texts = figures.reads.prefix(4)
            .map { level, reads in
                let name = level.split(separator: ".").last.map(String.init) ?? "cache"
                return "\(printable(name)) \(share(reads.ratio))"
            }
        return texts.isEmpty ? "-" : texts.joined(separator: ", ")
    }

    static func share(_ ratio: Double?) -> String { ratio.map { "\(Int(($0 * 100).rounded(.down))) %" } ?? "-" }

    /// What its memory holds, of what it may hold.
    static func memory(of figures: InstanceFigures) -> String {
        guard let entries = figures.entries, let weight = figures.weight, let limit = figures.limit else { return "-" }
        let share = limit > 0 ? share(Double(weight) / Double(limit)) : "-"
        return "\(entries), \(share)"
    }
}

extension InstanceText {
    /// A key that an instance has escaped; what acts on a terminal is escaped again where it has lied.
    static func text(escaped key: String) -> String {
        ControlCharacters.escaped(String(decoding: key.utf8.prefix(200), as: UTF8.self))
    }
}
