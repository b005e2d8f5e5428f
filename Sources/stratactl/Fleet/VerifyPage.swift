import Strata
import StrataRedis

/// What `verify` has found.
struct VerifyPage {
    /// How many inconsistencies are named.
    static let mostFindings = 1000
    /// How many have a line for a person.
    private static let mostLines = 20

    let keyspace: Keyspace
    var report: ConsistencyReport?
    var findings: [Inconsistency] = []
    /// Whether any instance answers questions.
    var isAnswered = false

    init(_ keyspace: Keyspace) { self.keyspace = keyspace }

    private var rows: [(delay: Duration, counts: ConsistencyReport.Counts)] {
        report.map { Array(zip($0.delays, $0.total)).map { ($0.0, $0.1) } } ?? []
    }

    var isInconsistent: Bool { rows.contains { $0.counts.inconsistent > 0 } }

    func print(in format: OutputOptions.Format) throws {
        switch format {
        case .table:
            StandardOutput.table(table)
            guard !findings.isEmpty else { return }
            StandardOutput.lines([""])
            StandardOutput.table(causes)
        case .plain:
            StandardOutput.cells(table.rows.map { ["delay"] + $0 })
            StandardOutput.cells(findings.map { ["inconsistency"] + Self.cells(of: $0) })
        case .json: try JSONDocument.print(json)
        }
    }

    /// What a person should know beside, one line each.
    var remarks: [String] {
        guard let report else { return [] }
        if report.instances == 0 {
            return ["no instance is listed: an instance has to run a FleetMember"]
        }
        let answered = rows.contains {
            $0.counts.checks + $0.counts.suspect + $0.counts.undecided + $0.counts.stale > 0
        }
        var remarks: [String] = []
        if report.changes == 0 {
            remarks.append("nothing changed in that time, so there was nothing to check")
        } else if !answered, rows.contains(where: { $0.counts.unknown > 0 }) {
            remarks.append("the instances cannot look up keys of their type, or run another release")
        } else if !answered, !isAnswered {
            remarks.append("no instance has answered: do they run an older release, or are their links down?")
        }
        if report.leftOut > 0 {
            remarks.append(
                "\(Quantity.text(report.leftOut, "change")) of \(report.changes) not followed; --rate follows up to 60 a second"
            )
        }
        if report.abandoned > 0 {
            remarks.append(
                "\(Quantity.text(report.abandoned, "check")) given up: late, or cut short by the end, Redis or the link"
            )
        }
        if isInconsistent {
            let count = rows.reduce(0) { $0 + $1.counts.inconsistent }
            remarks.append("\(Quantity.text(count, "inconsistency", "inconsistencies")) found")
        }
        return remarks
    }

    // MARK: For people

    var table: Table {
        var table = Table(
            .right("AFTER"),
            .right("CHECKS"),
            .right("INCONSISTENT"),
            .right("NINES"),
            .right("STALE"),
            .right("SUSPECT"),
            .right("UNDECIDED"),
            .right("SILENT")
        )
        table.rows = rows.map { delay, counts in
            [
                TimeSpan.text(delay), String(counts.checks), String(counts.inconsistent), Self.nines(of: counts),
                String(counts.stale), String(counts.suspect),
                String(counts.undecided + counts.unknown + counts.unsettled), String(counts.silent),
            ]
        }
        for (number, row) in rows.enumerated() where row.counts.checks > 0 {
            table.tints[number] = row.counts.inconsistent > 0 ? .warning : .good
        }
        return table
    }

    /// For example `4.2`, or `≥ 3` where nothing was found.
    static func nines(of counts: ConsistencyReport.Counts) -> String {
        guard let nines = counts.nines else { return "-" }
        // Never more than there is.
        let tenths = Int((nines * 10 + 1e-4).rounded(.down))
        let text = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
        return counts.inconsistent == 0 ? "≥ \(text)" : text
    }

    private var causes: Table {
        var table = Table(
            .left("KEY"),
            .left("INSTANCE"),
            .right("AFTER"),
            .left("IN MEMORY"),
            .left("IN REDIS"),
            .left("CAUSE")
        )
        table.rows = findings.prefix(Self.mostLines).map { Self.cells(of: $0) }
        if findings.count > Self.mostLines {
            table.rows.append(["and \(findings.count - Self.mostLines) more", "", "", "", "", ""])
        }
        return table
    }

    private static func cells(of finding: Inconsistency) -> [String] {
        [
            PrintableText.escape(finding.keyBytes), InstanceText.printable(finding.instance),
            TimeSpan.text(finding.age), finding.version.map { text(of: $0) } ?? "no stamp", stored(finding),
            finding.cause.description,
        ]
    }

    private static func stored(_ finding: Inconsistency) -> String {
        switch finding.stored {
        case .nothing: "nothing"
        case .entry(let version): text(of: version)
        case .void: "the same, void"
        case .other: "no entry"
        }
    }

    /// The first digits tell versions apart.
    private static func text(of version: EntryVersion) -> String { String(Hexadecimal.text(version).prefix(8)) }

    // MARK: JSON

    private struct JSONCounts: Encodable {
        let afterSeconds: Double
        let checks: Int
        let consistent: Int
        let inconsistent: Int
        let nines: Double?
        let stale: Int
        let suspect: Int
        let undecided: Int
        let unknown: Int
        let silent: Int
        let unsettled: Int

        init(_ delay: Duration, _ counts: ConsistencyReport.Counts) {
            afterSeconds = TimeSpan.seconds(delay)
            checks = counts.checks
            consistent = counts.consistent
            inconsistent = counts.inconsistent
            nines = counts.nines
            stale = counts.stale
            suspect = counts.suspect
            undecided = counts.undecided
            unknown = counts.unknown
            silent = counts.silent
            unsettled = counts.unsettled
        }
    }

    private struct JSONBucket: Encodable {
        let fromSeconds: Double
        let delays: [JSONCounts]
    }

    private struct JSONInconsistency: Encodable {
        let key: JSONBytes
        let instance: String
        let afterSeconds: Double
        let ageSeconds: Double
        let version: String?
        /// `nothing`, `entry`, `void` or `other`.
        let stored: String
        let storedVersion: String?
        let cause: String

        init(_ finding: Inconsistency) {
            key = JSONBytes(finding.keyBytes)
            instance = finding.instance
            afterSeconds = TimeSpan.seconds(finding.delay)
            ageSeconds = TimeSpan.seconds(finding.age)
            version = finding.version.map { Hexadecimal.text($0) }
            switch finding.stored {
            case .nothing: (stored, storedVersion) = ("nothing", nil)
            case .entry(let version): (stored, storedVersion) = ("entry", Hexadecimal.text(version))
            case .void: (stored, storedVersion) = ("void", nil)
            case .other: (stored, storedVersion) = ("other", nil)
            }
            cause = finding.cause.name
        }
    }

    private struct JSONReport: Encodable {
        let keyspace: String
        let instances: Int
        let changes: Int
        let leftOut: Int
        let abandoned: Int
        let delays: [JSONCounts]
        let bucketSeconds: Double
        let buckets: [JSONBucket]
        let inconsistencies: [JSONInconsistency]
    }

    private var json: JSONReport {
        JSONReport(
            keyspace: keyspace.description,
            instances: report?.instances ?? 0,
            changes: report?.changes ?? 0,
            leftOut: report?.leftOut ?? 0,
            abandoned: report?.abandoned ?? 0,
            delays: rows.map { JSONCounts($0.delay, $0.counts) },
            bucketSeconds: report.map { TimeSpan.seconds($0.bucketLength) } ?? 0,
            buckets: report?.buckets
                .map { bucket in
                    JSONBucket(
                        fromSeconds: TimeSpan.seconds(bucket.start),
                        delays: zip(report?.delays ?? [], bucket.counts).map { JSONCounts($0, $1) }
                    )
                } ?? [],
            inconsistencies: findings.map { JSONInconsistency($0) }
        )
    }
}

extension Hexadecimal {
    /// The digits of a stamp, as `get` shows it.
    static func text(_ version: EntryVersion) -> String {
        [version.high, version.low]
            .map { half in
                let digits = String(half, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }
            .joined()
    }
}
