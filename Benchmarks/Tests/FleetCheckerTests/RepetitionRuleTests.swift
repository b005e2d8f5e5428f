import FleetChecker
import Testing

@Suite("What has failed is repeated")
struct RepetitionRuleTests {
    typealias S = Scripted

    /// Version 2 is written, and its invalidation by instance 9 fails while a fault lasts, whose recovery ends at 200.
    private let change = [S.write(2, 10...20), S.invalidate(2, 30...50, .failed), S.fault(25...100)]

    private func life(_ times: ClosedRange<UInt64>, by instance: UInt32 = 9) -> HistoryEvent {
        HistoryEvent(
            .instance,
            .done,
            instance: instance,
            start: times.lowerBound,
            end: times.upperBound
        )
    }

    private func kinds(
        _ events: [HistoryEvent],
        _ adjust: (inout StalenessChecker) -> Void = { _ in }
    ) throws -> [ViolationKind: Int] {
        try S.check(events) {
            $0.bounds.recovery = .nanoseconds(100)
            $0.repeatsFailed = true
            adjust(&$0)
        }
        .violationCounts
    }

    @Test("from the end of the recovery on it obliges as if it had been done then")
    func obliges() throws {
        let alive = change + [life(1...900)]
        #expect(try kinds(alive + [S.get(1, by: 1, 300...310)]) == [:])
        #expect(try kinds(alive + [S.get(1, by: 1, 301...310)]) == [.stale: 1])
        #expect(try kinds(alive + [S.get(2, by: 1, 301...310)]) == [:])
        #expect(try kinds(alive + [S.get(1, by: 9, 200...310)]) == [:])
        #expect(try kinds(alive + [S.get(1, by: 9, 201...310)]) == [.ownStale: 1])
        #expect(try kinds(alive + [S.get(1, by: 1, 301...310)]) { $0.repeatsFailed = false } == [:])
        #expect(try kinds(alive + [S.get(1, by: 1, 301...310)]) { $0.neverRepeatedKeys = [0] } == [:])
    }

    @Test("nothing is asked of an instance that has died, of one whose life is not recorded, and without a fault")
    func excused() throws {
        let old = S.get(1, by: 1, 700...710)
        #expect(try kinds(change + [old]) == [:])
        #expect(try kinds(change + [old, life(1...199)]) == [:])
        #expect(try kinds(change + [old, life(1...200)]) == [.stale: 1])
        let killed = HistoryEvent(.instance, .open, instance: 9, start: 1, end: 0)
        #expect(try kinds([killed] + change + [old]) == [:])
        // It was seen at work after that.
        #expect(try kinds([killed] + change + [old, S.get(2, by: 9, 250...260)]) == [.stale: 1])
        let calm = [S.write(2, 10...20), S.invalidate(2, 30...50, .failed), life(1...900), old]
        #expect(try kinds(calm) == [:])
    }

    @Test("a failover may lose the repetition as well")
    func lost() throws {
        let events = change + [life(1...900), S.get(1, by: 1, 400...410)]
        let loss = FailoverLoss(from: 45, until: 60)
        #expect(try kinds(events) == [.stale: 1])
        #expect(
            try kinds(events) {
                $0.failovers = [loss]
                $0.failoverBound = .nanoseconds(500)
            } == [:]
        )
    }
}
