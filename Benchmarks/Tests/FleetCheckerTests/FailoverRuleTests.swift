import FleetChecker
import Testing

@Suite("What a failover may lose")
struct FailoverRuleTests {
    typealias S = Scripted

    private let change = S.change

    private func report(
        _ events: [HistoryEvent],
        _ failovers: [FailoverLoss],
        bound: Duration = .nanoseconds(500)
    ) throws -> StalenessReport {
        try S.check(events) {
            $0.failovers = failovers
            $0.failoverBound = bound
        }
    }

    @Test("a change that may be lost obliges within the failover's bound, and not a nanosecond longer")
    func bound() throws {
        let loss = FailoverLoss(from: 45, until: 60)
        let excused = try report(change + [S.get(1, by: 1, 550...560)], [loss])
        #expect(excused.violations == 0)
        #expect(excused.failovers.atRisk == 1 && excused.failovers.lost == 1 && excused.failovers.reads == 1)
        #expect(excused.failovers.worst == .nanoseconds(500))
        // What was lost does not count as the age of a value.
        #expect(excused.worstStaleness == .zero)
        #expect(try report(change + [S.get(1, by: 1, 551...560)], [loss]).violationCounts == [.stale: 1])
        #expect(try report(change + [S.get(1, by: 9, 60...70)], [loss]).violationCounts == [:])
        #expect(try report(change + [S.get(1, by: 9, 551...560)], [loss]).violationCounts == [.stale: 1])
        #expect(try report(change + [S.get(1, by: 1, 151...160)], [loss], bound: .zero).violationCounts == [.stale: 1])
    }

    @Test("what was confirmed before, or begun after, is not lost")
    func edges() throws {
        let old = S.get(1, by: 1, 200...210)
        #expect(try report(change + [old], [FailoverLoss(from: 50, until: 90)]).violationCounts == [.stale: 1])
        #expect(try report(change + [old], [FailoverLoss(from: 49, until: 90)]).violationCounts == [:])
        #expect(try report(change + [old], [FailoverLoss(from: 0, until: 29)]).violationCounts == [.stale: 1])
        #expect(try report(change + [old], [FailoverLoss(from: 0, until: 30)]).violationCounts == [:])
    }

    @Test("one shard's failover excuses its own keys alone")
    func keys() throws {
        let old = S.get(1, by: 1, 200...210)
        #expect(
            try report(change + [old], [FailoverLoss(from: 0, until: 90, keys: [1])]).violationCounts == [.stale: 1]
        )
        #expect(try report(change + [old], [FailoverLoss(from: 0, until: 90, keys: [0])]).violationCounts == [:])
    }

    @Test("a change of the same version beside the failover obliges as ever")
    func again() throws {
        let loss = FailoverLoss(from: 45, until: 60)
        let again = S.invalidate(2, 70...80)
        #expect(try report(change + [again, S.get(1, by: 1, 180...190)], [loss]).violationCounts == [:])
        #expect(try report(change + [again, S.get(1, by: 1, 181...190)], [loss]).violationCounts == [.stale: 1])
        let before = S.invalidate(2, 25...40)
        #expect(try report(change + [before, S.get(1, by: 1, 141...190)], [loss]).violationCounts == [.stale: 1])
    }

    @Test("tags and everything are lost like keys; a read within the bounds has lost nothing")
    func widespread() throws {
        let loss = FailoverLoss(from: 45, until: 60)
        for invalidation in [S.invalidate(tag: 7, 30...50), S.invalidateAll(30...50)] {
            let events = [S.write(2, 10...20), invalidation]
            let report = try S.check(events + [S.get(1, by: 1, 120...130), S.get(1, by: 1, 300...310)]) {
                $0.tags = [7: [0]]
                $0.failovers = [loss]
                $0.failoverBound = .nanoseconds(500)
            }
            #expect(report.violations == 0)
            #expect(report.failovers.lost == 1 && report.failovers.reads == 1)
        }
        #expect(try report(change + [S.get(2, by: 1, 120...130)], [loss]).failovers.lost == 0)
        #expect(try "\(report(change + [S.get(1, by: 1, 200...210)], [loss]))".contains("1 lost"))
    }
}
