/// The judgement of one key: all checks are made key by key, in O(n log n) of the key's events.
struct KeyCheck {
    private let rules: StalenessRules
    private let formatter: ViolationFormatter
    private var gets: [HistoryEvent] = []
    private var fetches: [HistoryEvent] = []
    private var invalidations: [HistoryEvent]
    private let written: WrittenVersions
    private let riskedCount: Int
    private let repeatedCount: Int
    /// What every read must know of.
    private let requiredVersions: RequiredVersions
    /// What a failover may have lost.
    private let atRisk: RequiredVersions

    /// Takes the key's own events, in any order, and the tag and whole-run invalidations that touch it.
    init(
        _ events: ArraySlice<HistoryEvent>,
        widespread: [HistoryEvent],
        rules: StalenessRules,
        formatter: ViolationFormatter
    ) {
        self.rules = rules
        self.formatter = formatter
        self.invalidations = widespread
        var writes: [HistoryEvent] = []
        for event in events {
            switch event.kind {
            case .get: gets.append(event)
            case .write: writes.append(event)
            case .fetch: fetches.append(event)
            case .invalidateKey, .set: invalidations.append(event)
            case .invalidateTag, .invalidateAll, .instance, .fault: break
            }
        }
        let versions = WrittenVersions(initialVersion: rules.initialVersion, writes: writes, gets: gets)
        written = versions
        func required(_ changes: [HistoryEvent]) -> RequiredVersions {
            RequiredVersions(changes, versions, initialVersion: rules.initialVersion, losses: rules.losses)
        }
        let repeated = invalidations.compactMap { rules.repeated($0) }
        repeatedCount = repeated.count
        let changes = invalidations + repeated
        let risked = changes.filter { change in
            change.hasEnded && change.outcome == .done && rules.failovers.contains { $0.covers(change) }
        }
        riskedCount = risked.count
        guard !risked.isEmpty else {
            requiredVersions = required(changes)
            atRisk = required([])
            return
        }
        requiredVersions = required(changes.filter { change in !rules.failovers.contains { $0.covers(change) } })
        atRisk = required(risked)
    }

    /// Judges everything; a read is reported once at most, by the gravest thing that is wrong with what it gave, and
    /// once more if it has waited for nothing.
    func judge(into findings: inout Findings) {
        var sound: [MonotoneReads.Read] = []
        var lost: Set<VersionTimeline.Step> = []
        findings.failovers.atRisk += riskedCount
        findings.repeated += repeatedCount
        defer { findings.failovers.lost += lost.count }
        for get in gets {
            switch get.outcome {
            case .value, .absent:
                if let isSound = judge(get, &lost, &findings), rules.monotoneReads {
                    sound.append(.init(get: get, mayBeReported: isSound && get.marks.subtracting(.together).isEmpty))
                }
            case .stranger:
                findings.report(.stranger, start: get.start) {
                    formatter.violation(.stranger, get, version: 0, "gave the value of key \(get.version >> 32)")
                }
            case .forged:
                findings.report(.forged, start: get.start) {
                    formatter.violation(
                        .forged,
                        get,
                        version: 0,
                        "gave a value that this run's source never made; it calls itself version \(get.version)"
                    )
                }
            case .open, .miss, .failed, .done: break
            }
        }
        MonotoneReads.check(sound) { get, earlier in
            findings.report(.backwards, start: get.start) {
                formatter.violation(
                    .backwards,
                    get,
                    version: get.version,
                    "gave \(formatter.version(get.version)), when one that ended "
                        + "\(formatter.span(get.start - earlier.end)) before had given "
                        + formatter.version(earlier.version)
                )
            }
        }
        FetchCheck(fetches, invalidations, rules: rules, formatter: formatter).judge(into: &findings)
        findOrphanWaits(into: &findings)
    }

    /// Finds reads that waited while no instance fetched.
    private func findOrphanWaits(into findings: inout Findings) {
        guard let rule = rules.orphanWaits else { return }
        let long = gets.filter {
            $0.hasEnded && $0.end - $0.start > rule.limit && !$0.marks.contains(.together)
        }
        guard !long.isEmpty else { return }
        let waits = OrphanWaits(fetches, unfinished: rule.unfinished)
        for get in long where !rules.faults.touches(get.start, get.end) {
            let gap = waits.longestGap(from: get.start, to: get.end, without: rules.hardTimes)
            guard gap > rule.limit else { continue }
            findings.report(.orphanWait, start: get.start) {
                formatter.violation(
                    .orphanWait,
                    get,
                    version: get.version,
                    "took \(formatter.span(get.end - get.start)), \(formatter.span(gap)) of it "
                        + "while no instance fetched the key"
                )
            }
        }
    }

    /// Whether the version is one that may be given; nil if it is none at all.
    private func judge(
        _ get: HistoryEvent,
        _ lost: inout Set<VersionTimeline.Step>,
        _ findings: inout Findings
    ) -> Bool? {
        let version = get.outcome == .absent ? 0 : get.version
        let written = written.start(of: version)
        guard let written, written <= get.end else {
            findings.report(.thinAir, start: get.start) {
                let reason =
                    written.map { "whose write began \(formatter.span($0 - get.end)) after the get had ended" }
                    ?? "which no write had made"
                return formatter.violation(
                    .thinAir,
                    get,
                    version: version,
                    "gave \(formatter.version(version)), \(reason)"
                )
            }
            return nil
        }
        let (readClass, limit) = rules.judgement(of: get)
        let age = requiredVersions.age(of: version, at: get.start)
        findings.add(age: age?.nanoseconds ?? 0, to: readClass)
        guard let limit else { return true }
        guard judgeLoss(get, version, limit, &lost, &findings) else { return false }
        guard let age else { return true }
        if age.nanoseconds > limit.fleet {
            report(.stale, get, age, limit.fleet, "instance \(formatter.name(age.cause.instance))", &findings)
            return false
        }
        if let age = requiredVersions.age(of: version, at: get.start, by: get.instance), age.nanoseconds > limit.own {
            report(.ownStale, get, age, limit.own, "the same instance", &findings)
            return false
        }
        return true
    }

    /// Whether a failover may have brought the version back, if only changes forbid it that one may have lost.
    private func judgeLoss(
        _ get: HistoryEvent,
        _ version: UInt64,
        _ limit: StalenessRules.Limit,
        _ lost: inout Set<VersionTimeline.Step>,
        _ findings: inout Findings
    ) -> Bool {
        guard riskedCount > 0, let age = atRisk.age(of: version, at: get.start) else { return true }
        let own = atRisk.age(of: version, at: get.start, by: get.instance)
        guard age.nanoseconds > limit.fleet || own.map({ $0.nanoseconds > limit.own }) ?? false else { return true }
        if age.nanoseconds > max(limit.fleet, rules.failoverBound) {
            let cause = "instance \(formatter.name(age.cause.instance)), which a failover may have lost,"
            report(.stale, get, age, max(limit.fleet, rules.failoverBound), cause, &findings)
            return false
        }
        lost.insert(age.cause)
        findings.failovers.reads += 1
        findings.failovers.worst = max(findings.failovers.worst, .nanoseconds(Int64(clamping: age.nanoseconds)))
        return true
    }

    private func report(
        _ kind: ViolationKind,
        _ get: HistoryEvent,
        _ age: RequiredVersions.Age,
        _ limit: UInt64,
        _ cause: String,
        _ findings: inout Findings
    ) {
        findings.report(kind, start: get.start) {
            formatter.violation(
                kind,
                get,
                version: get.version,
                staleness: age.nanoseconds,
                "gave \(formatter.version(get.version)), "
                    + "when an invalidation of version \(age.cause.version) by \(cause) "
                    + "had returned \(formatter.span(age.nanoseconds)) before; the bound is \(formatter.span(limit))"
            )
        }
    }
}
