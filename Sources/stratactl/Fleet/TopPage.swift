import StrataRedis

/// What `top` shows at one moment.
struct TopPage {
    private let place: String
    private let sample: FleetSample
    private let rates: FleetRates
    private let mostKeys: Int

    init(_ keyspace: Keyspace, at endpoint: String, _ sample: FleetSample, _ rates: FleetRates, mostKeys: Int) {
        place = "\(RemovalResult.printable(keyspace)) at \(endpoint)"
        self.sample = sample
        self.rates = rates
        self.mostKeys = mostKeys
    }

    /// The whole page.
    ///
    /// - Parameter width: How wide it may be; `nil` for any width.
    /// - Returns: Its lines.
    func lines(within width: Int?) -> [String] {
        let silent = sample.members.count { $0.isSilent }
        let total = rates.total
        var fields = FieldList()
        fields.add("keyspace", place)
        fields.add(
            "instances",
            "\(sample.members.count)\(sample.more ? " and more" : "")" + (silent == 0 ? "" : ", \(silent) silent")
        )
        fields.add("a second", Self.text(of: total))
        fields.add("hits", Self.hits(total.reads))
        for (name, kind) in [("fetches", "fetch"), ("waits", "wait"), ("Redis", "call")] {
            fields.add(name, durations(kind))
        }
        let keys = hottestKeys
        fields.add("hottest", keys.isEmpty ? nil : keys.joined(separator: "  "))
        return (fields.lines(within: width) + [TintedLine("")] + table.lines(within: width)).map(\.text)
    }

    /// The rows of the table, for other programs.
    var cells: [[String]] { table.rows }

    var table: Table {
        var table = Table(
            .left("INSTANCE"),
            .right("READS/S"),
            .left("HITS"),
            .right("FETCHES/S"),
            .right("WAITS/S"),
            .left("IN MEMORY"),
            .left("STATE")
        )
        table.rows = sample.members.map { member in
            let name = InstanceText.name(of: member.instance)
            let row = rates.rows[member.instance.number]
            let state = (member.isSilent ? "silent, " : "") + InstanceText.state(of: member.instance)
            return [
                name, row.map { Self.number($0.requests) } ?? "-", row.map { Self.hits($0.reads) } ?? "-",
                row.map { Self.number($0.fetches) } ?? "-", row.map { Self.number($0.waits) } ?? "-",
                member.figures.map { InstanceText.memory(of: $0) } ?? "-", state,
            ]
        }
        return table
    }

    private static func text(of row: FleetRates.Row) -> String {
        "\(number(row.requests)) reads, \(number(row.fetches)) fetches (\(number(row.failedFetches)) failed), "
            + "\(number(row.waits)) waits"
    }

    private static func hits(_ reads: [(level: String, reads: InstanceFigures.Reads)]) -> String {
        let texts = reads.prefix(4)
            .map { level, reads in
                let name = level.split(separator: ".").last.map(String.init) ?? "cache"
                return "\(InstanceText.printable(name)) \(InstanceText.share(reads.ratio))"
            }
        return texts.isEmpty ? "-" : texts.joined(separator: ", ")
    }

    /// The percentiles of the slowest instance.
    private func durations(_ kind: String) -> String {
        let all = sample.members.compactMap { $0.record?.durations[kind] }.filter { $0.count > 0 }
        func span(_ value: KeyPath<InstanceRecord.Durations, Int>) -> String {
            TimeSpan.text(seconds: Double(max(all.map { $0[keyPath: value] }.max() ?? 0, 0)) / 1_000_000)
        }
        return all.isEmpty ? "none" : "median \(span(\.median)), 95 % \(span(\.p95)), 99 % \(span(\.p99))"
    }

    /// The keys that most instances name first.
    var hottestKeys: [String] {
        var scores: [String: Int] = [:]
        for member in sample.members {
            for (place, key) in (member.record?.hottest ?? []).prefix(mostKeys).enumerated() {
                scores[InstanceText.text(escaped: key), default: 0] += mostKeys - place
            }
        }
        return scores.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(mostKeys).map(\.key)
    }

    /// For example `0`, `0.4`, `12`, `181042`.
    private static func number(_ value: Double) -> String {
        guard value < 1e15 else { return "many" }
        let tenths = Int((value * 10).rounded())
        return tenths >= 100 || tenths % 10 == 0 ? "\(Int(value.rounded()))" : "\(tenths / 10).\(tenths % 10)"
    }

    // MARK: JSON

    struct JSON: Encodable {
        struct Instance: Encodable {
            let figures: JSONInstance
            let silent: Bool
            let requestsPerSecond: Double?
            let fetchesPerSecond: Double?
            let waitsPerSecond: Double?
        }

        let instances: [Instance]
        let requestsPerSecond: Double
        let fetchesPerSecond: Double
        let waitsPerSecond: Double
        let hottest: [String]
        let more: Bool
    }

    func json(_ keyspace: Keyspace) -> JSON {
        JSON(
            instances: sample.members.map { member in
                let row = rates.rows[member.instance.number]
                return JSON.Instance(
                    figures: JSONInstance(member.instance, keyspace),
                    silent: member.isSilent,
                    requestsPerSecond: row?.requests,
                    fetchesPerSecond: row?.fetches,
                    waitsPerSecond: row?.waits
                )
            },
            requestsPerSecond: rates.total.requests,
            fetchesPerSecond: rates.total.fetches,
            waitsPerSecond: rates.total.waits,
            hottest: hottestKeys,
            more: sample.more
        )
    }
}
