import FleetChecker
import Testing

@Suite("The staleness rule")
struct StalenessRuleTests {
    typealias S = Scripted

    private let change = S.change

    private func counts(
        _ events: [HistoryEvent],
        initialVersion: UInt64 = 1,
        _ adjust: (inout StalenessChecker) -> Void = { _ in }
    ) throws -> [ViolationKind: Int] {
        try S.check(initialVersion: initialVersion, events, adjust).violationCounts
    }

    @Test("allows an old version for as long as the bound, and not a nanosecond longer")
    func bound() throws {
        #expect(try counts(change + [S.get(1, by: 1, 40...400)]) == [:])
        #expect(try counts(change + [S.get(1, by: 1, 150...160)]) == [:])
        #expect(try counts(change + [S.get(1, by: 1, 151...160)]) == [.stale: 1])
        #expect(try counts(change + [S.get(2, by: 1, 151...160)]) == [:])
        let report = try S.check(change + [S.get(1, by: 1, 151...160)])
        #expect(report.worstStaleness == .nanoseconds(101))
        let violation = try #require(report.examples.first)
        #expect(violation.staleness == .nanoseconds(101))
        #expect(violation.key == 0 && violation.instance == "1" && violation.version == 1)
        #expect(violation.start == .nanoseconds(141))
    }

    @Test("counts from the first invalidation that made the version old")
    func firstCause() throws {
        let later = [S.write(3, 60...70), S.invalidate(3, 80...140)]
        #expect(try counts(change + later + [S.get(1, by: 1, 200...210)]) == [.stale: 1])
        #expect(try counts(change + later + [S.get(2, by: 1, 200...210)]) == [:])
        #expect(try counts(change + later + [S.get(2, by: 1, 241...250)]) == [.stale: 1])
        // The older version's invalidation returns last: it adds nothing.
        let crossed = [S.write(2, 10...20), S.write(3, 21...22), S.invalidate(3, 30...40), S.invalidate(2, 23...120)]
        #expect(try S.check(crossed + [S.get(1, by: 1, 130...140)]).worstStaleness == .nanoseconds(90))
    }

    @Test("allows the reading instance's own invalidations nothing")
    func own() throws {
        #expect(try counts(change + [S.get(1, by: 9, 50...60)]) == [:])
        #expect(try counts(change + [S.get(1, by: 9, 51...60)]) == [.ownStale: 1])
        #expect(try counts(change + [S.get(1, by: 9, 151...160)]) == [.stale: 1])
        #expect(
            try counts(change + [S.get(1, by: 9, 51...60)]) {
                $0.bounds.normal.own = .nanoseconds(1)
            } == [:]
        )
        // The fleet's bound holds for own invalidations too.
        #expect(
            try counts(change + [S.get(1, by: 9, 51...60)]) {
                $0.bounds.normal = StalenessBound(fleet: .zero, own: .seconds(1))
            } == [.stale: 1]
        )
        // Another instance's newer invalidation is not one's own.
        let other = [S.write(3, by: 8, 60...70), S.invalidate(3, by: 8, 80...90)]
        #expect(try counts(change + other + [S.get(2, by: 9, 120...130)]) == [:])
        #expect(try counts(change + other + [S.get(2, by: 8, 120...130)]) == [.ownStale: 1])
    }

    @Test("takes an invalidation to speak for all that was written when it began")
    func derivedVersion() throws {
        let silent = [S.write(2, 10...20), S.write(3, 15...31), S.invalidate(0, 30...50)]
        #expect(try counts(silent + [S.get(1, by: 1, 200...210)]) == [.stale: 1])
        // Version 3 was not finished when the invalidation began.
        #expect(try counts(silent + [S.get(2, by: 1, 200...210)]) == [:])
        let finished = [S.write(2, 10...20), S.write(3, 15...30), S.invalidate(0, 30...50)]
        #expect(try counts(finished + [S.get(2, by: 1, 200...210)]) == [.stale: 1])
        // What the caller knew counts although the write's end was not recorded.
        let known = [S.write(2, 10...20), S.killedWrite(21), S.invalidate(3, 30...50)]
        #expect(try counts(known + [S.get(2, by: 1, 200...210)]) == [.stale: 1])
        // Without a write there is nothing to be old against.
        #expect(try counts([S.invalidate(0, 30...50), S.get(1, by: 1, 200...210)]) == [:])
    }

    @Test("takes a set to speak for its own version alone")
    func sets() throws {
        let writes = [S.write(2, 10...20), S.write(3, 21...22), S.set(2, 30...50)]
        #expect(try counts(writes + [S.get(1, by: 1, 151...160)]) == [.stale: 1])
        #expect(try counts(writes + [S.get(1, by: 9, 51...60)]) == [.ownStale: 1])
        #expect(try counts(writes + [S.get(2, by: 1, 151...160)]) == [:])
    }

    @Test("asks nothing after an invalidation that failed or never returned")
    func unknownOutcome() throws {
        let late = S.get(1, by: 1, 900...910)
        #expect(try counts([S.write(2, 10...20), S.invalidate(2, 30...50, .failed), late]) == [:])
        #expect(try counts([S.write(2, 10...20), S.killedInvalidation(30), late]) == [:])
        let report = try S.check([
            S.write(2, 10...20), S.killedInvalidation(30), S.invalidate(2, 30...50, .failed), late,
        ])
        #expect(report.totals.unknownInvalidations == 2)
        #expect(report.isClean)
    }

    @Test("holds for absence as for a value")
    func absence() throws {
        let first = [S.write(1, 10...20), S.invalidate(1, 30...50)]
        #expect(try counts(first + [S.get(0, by: 1, 150...160)], initialVersion: 0) == [:])
        #expect(try counts(first + [S.get(0, by: 1, 151...160)], initialVersion: 0) == [.stale: 1])
    }

    @Test("reads tags and whole-run invalidations by the keys they touch")
    func scopes() throws {
        let writes = [S.write(2, key: 0, 10...20), S.write(2, key: 1, 10...20), S.write(2, key: 2, 10...20)]
        let reads = (0...2).map { S.get(1, key: $0, by: 1, 200...210) }
        let tag = writes + [S.invalidate(tag: 70_000, 30...50)] + reads
        func keys(_ report: StalenessReport) -> [Int] { report.examples.map(\.key).sorted() }
        let mapped = try S.check(tag) { $0.tags = [70_000: [0, 2, 2], 5: [1]] }
        #expect(mapped.violationCounts == [.stale: 2])
        #expect(keys(mapped) == [0, 2])
        #expect(mapped.totals.unmappedInvalidations == 0)
        let unmapped = try S.check(tag)
        #expect(unmapped.violations == 0)
        #expect(unmapped.totals.unmappedInvalidations == 1)
        #expect(!unmapped.isComplete && !unmapped.isClean)
        #expect(try keys(S.check(writes + [S.invalidateAll(30...50)] + reads)) == [0, 1, 2])
        #expect(try counts(writes + [S.invalidateAll(by: 1, 30...190)] + reads) == [.ownStale: 3])
        // Keys outside the run and tags that are none are no reason to fall.
        _ = try S.check(tag) { $0.tags = [-1: [0], .max: [1], 70_000: [-1, .max]] }
    }

    @Test("knows bounds of their own for marked reads and for levels")
    func classes() throws {
        let stale = S.get(1, by: 1, 200...210, marks: [.stale])
        let suspect = S.get(1, by: 1, 200...210, marks: [.suspect])
        let both = S.get(1, by: 1, 200...210, marks: [.stale, .suspect])
        #expect(try counts(change + [stale, suspect, both]) == [:])
        #expect(
            try counts(change + [stale, suspect, both]) {
                $0.bounds.stale = StalenessBound(fleet: .nanoseconds(149))
            } == [.stale: 2]
        )
        #expect(
            try counts(change + [stale, suspect, both]) {
                $0.bounds.suspect = StalenessBound(fleet: .nanoseconds(149))
            } == [.stale: 1]
        )
        #expect(
            try counts(change + [stale]) { $0.bounds.stale = StalenessBound(fleet: .nanoseconds(150)) } == [:]
        )
        let levels = [S.get(1, by: 1, 100...110, from: .redis), S.get(1, by: 1, 100...110, from: .memory)]
        #expect(
            try counts(change + levels) { $0.bounds.levels[.redis] = StalenessBound(fleet: .zero) } == [.stale: 1]
        )
        let report = try S.check(change + levels + [stale, suspect, both, S.get(2, by: 1, 300...310)])
        #expect(report.staleness[.normal]?.reads == 3)
        #expect(report.staleness[.normal]?.staleReads == 2)
        #expect(report.staleness[.stale]?.reads == 2)
        #expect(report.staleness[.suspect]?.worst == .nanoseconds(150))
        #expect(report.staleness[.fault] == nil)
    }

    @Test("grants the wider bound while a fault lasts and in the recovery after it")
    func faults() throws {
        func counts(_ start: UInt64, _ fault: HistoryEvent, by instance: UInt32 = 1) throws -> [ViolationKind: Int] {
            try self.counts(change + [fault, S.get(1, by: instance, start...start + 1)]) {
                $0.bounds.duringFaults = StalenessBound(fleet: .nanoseconds(500), own: .zero)
                $0.bounds.recovery = .nanoseconds(30)
            }
        }
        #expect(try counts(200, S.fault(200...300)) == [:])
        #expect(try counts(200, S.fault(201...300)) == [.stale: 1])
        #expect(try counts(330, S.fault(200...300)) == [:])
        #expect(try counts(331, S.fault(200...300)) == [.stale: 1])
        #expect(try counts(551, S.fault(200...600)) == [.stale: 1])
        #expect(try counts(200, S.fault(200...300), by: 9) == [.ownStale: 1])
        // A fault that was never ended lasts.
        let endless = HistoryEvent(.fault, .open, instance: 0, start: 100, end: 0)
        #expect(try counts(540, endless) == [:])
        // A level's wider bound stands in a fault too.
        let wide = try self.counts(change + [S.fault(200...300), S.get(1, by: 1, 250...260)]) {
            $0.bounds.levels[.memory] = StalenessBound(fleet: .nanoseconds(400))
            $0.bounds.duringFaults = StalenessBound(fleet: .nanoseconds(150))
        }
        #expect(wide == [:])
        // Faults that overlap are one.
        let nested = [S.fault(100...400), S.fault(120...130)]
        let inside = try self.counts(change + nested + [S.get(1, by: 1, 390...391)]) {
            $0.bounds.duringFaults = StalenessBound(fleet: .nanoseconds(500))
        }
        #expect(inside == [:])
    }

    @Test("judges no read that failed or missed")
    func unjudged() throws {
        let reads = [
            S.get(0, by: 1, 900...910, outcome: .failed), S.get(0, by: 1, 900...910, outcome: .miss),
        ]
        let report = try S.check(change + reads)
        #expect(report.violations == 0)
        #expect(report.totals.failedGets == 1 && report.totals.misses == 1 && report.totals.gets == 2)
        #expect(report.staleness.isEmpty)
    }
}
