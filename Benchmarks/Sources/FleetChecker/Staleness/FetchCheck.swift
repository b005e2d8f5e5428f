/// The fetches of one key: how many, and whether two instances ran one at the same time without an excuse.
struct FetchCheck {
    private let fetches: [HistoryEvent]
    private let rules: StalenessRules
    private let formatter: ViolationFormatter
    /// By their beginning: until when the effect of an invalidation begun by then may have come.
    private var excuses: [(start: UInt64, latestEffect: UInt64)] = []

    init(
        _ fetches: [HistoryEvent],
        _ invalidations: [HistoryEvent],
        rules: StalenessRules,
        formatter: ViolationFormatter
    ) {
        // The whole order is fixed, so that of fetches that begin together always the same ones are reported.
        self.fetches = fetches.sorted { ($0.start, $0.end, $0.instance) < ($1.start, $1.end, $1.instance) }
        self.rules = rules
        self.formatter = formatter
        guard let rule = rules.oneFetch, fetches.count > 1 else { return }
        var latest: UInt64 = 0
        for invalidation in invalidations.sorted(by: { $0.start < $1.start }) {
            let isCertain = invalidation.hasEnded && invalidation.outcome == .done
            let known = max(invalidation.start, invalidation.end)
            latest = max(latest, isCertain ? known : known.addingSaturating(rule.ambiguity))
            excuses.append((invalidation.start, latest))
        }
    }

    func judge(into findings: inout Findings) {
        count(into: &findings.fetches)
        guard fetches.count > 1 else { return }
        findOverlaps(into: &findings)
    }

    private func count(into counts: inout FetchCounts) {
        counts.fetches += fetches.count
        var versions: [UInt64] = []
        for fetch in fetches {
            if !fetch.hasEnded {
                counts.unfinished += 1
            } else if fetch.outcome == .failed {
                counts.failed += 1
            } else {
                versions.append(fetch.version)
            }
        }
        versions.sort()
        var first = 0
        while first < versions.count {
            let next = versions[first...].firstIndex { $0 != versions[first] } ?? versions.count
            counts.versions += 1
            if next - first > 1 { counts.repeatedVersions += 1 }
            if next - first > counts.mostPerVersion {
                counts.mostPerVersion = next - first
                counts.mostFetchedKey = Int(fetches[0].key)
            }
            first = next
        }
    }

    /// Goes over the fetches as they begin.
    ///
    /// O(n log n) for the excuses, and O(instances that fetch the key at once) each.
    private func findOverlaps(into findings: inout Findings) {
        var running: [RunningFetches] = []
        var ends = LatestEnds()
        for fetch in fetches {
            if ends.outlasts(fetch.start, otherThan: fetch.instance) {
                findings.fetches.overlaps += 1
                if rules.oneFetch != nil {
                    if let other = culprit(for: fetch, in: &running) {
                        findings.report(.doubleFetch, start: fetch.start) { formatter.violation(fetch, beside: other) }
                    } else {
                        findings.fetches.excusedOverlaps += 1
                    }
                }
            }
            guard fetch.hasEnded else { continue }
            ends.add(fetch)
            if let own = running.firstIndex(where: { $0.instance == fetch.instance }) {
                running[own].add(fetch)
            } else {
                running.append(RunningFetches(fetch))
            }
        }
    }

    /// A fetch of another instance that still runs and that nothing has voided; nil as well where the one that begins
    /// is of an instance that was too slow to see the other's lease.
    private func culprit(for fetch: HistoryEvent, in running: inout [RunningFetches]) -> HistoryEvent? {
        guard rules.ownHardships[fetch.instance]?.contains(fetch.start) != true else { return nil }
        let voided = voidedUntil(fetch.start)
        var index = 0
        while index < running.count {
            let own = rules.ownHardships[running[index].instance]?.lastEnd(by: fetch.start) ?? 0
            running[index].prune(by: fetch.start, voidedUntil: max(voided, own))
            if let longest = running[index].longest {
                if running[index].instance != fetch.instance { return longest }
                index += 1
            } else {
                running.swapAt(index, running.count - 1)
                running.removeLast()
            }
        }
        return nil
    }

    /// Fetches that began by then have no lease any more by `time`, or never had one.
    ///
    /// An invalidation that had begun, a fault or its recovery, or a failover that may have lost the lease, came
    /// between; a lease that the successor has is excused as well.
    ///
    /// 0 if there was none.
    private func voidedUntil(_ time: UInt64) -> UInt64 {
        guard let rule = rules.oneFetch else { return 0 }
        let after = excuses.firstIndexOfSorted { $0.start > time }
        let invalidation = after > 0 ? excuses[after - 1].latestEffect.addingSaturating(rule.leaseLead) : 0
        let failover = rules.failovers.reduce(0) { $1.from <= time ? max($0, $1.until) : $0 }
        return max(invalidation, failover, rules.faults.lastEnd(by: time), rules.hardships.lastEnd(by: time))
    }
}
