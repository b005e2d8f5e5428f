import FleetChecker
import Testing

@Suite("A fleet that keeps its promises")
struct SimulatedHistoryTests {
    @Test("is found clean, with every rule asked and no slack beyond its own delay", arguments: 0..<24)
    func correctHistories(seed: UInt64) throws {
        var plan = SimulatedFleet.Plan()
        plan.initialVersion = seed % 2
        plan.delay = [200, 2_000, 20_000][Int(seed % 3)]
        plan.kills = [0, 50, 200][Int(seed / 3 % 3)]
        let fleet = try SimulatedFleet(plan, seed: seed)
        let history = fleet.history()
        let report = try fleet.checker().check(history)
        #expect(report.isClean, "seed \(seed): \(report)")
        // It would say little if nothing had happened.
        #expect(report.totals.gets > 1_000 && report.totals.writes > 100)
        if plan.delay > 200 { #expect(report.staleness[.normal]?.staleReads ?? 0 > 0) }
        #expect(report.fetches.excusedOverlaps > 0)
        #expect((report.totals.unknownWrites > 0) == fleet.events.contains { $0.kind == .write && $0.end == 0 })
    }

    @Test("is found clean out of files, read in any number of rounds")
    func throughFiles() throws {
        let folder = try TemporaryFolder()
        let seed: UInt64 = 5
        let fleet = try SimulatedFleet(SimulatedFleet.Plan(), seed: seed)
        let history = fleet.history()
        let paths = [folder.file("a"), folder.file("b")]
        for (index, path) in paths.enumerated() {
            let recorder = try HistoryRecorder(creating: path, run: fleet.run)
            for event in fleet.events where Int(event.instance) % 2 == index { recorder.record(event) }
        }
        var checker = fleet.checker()
        let direct = try checker.check(history)
        for size in [1, 300, 1 << 23] {
            checker.eventsPerRound = size
            let report = try checker.check(History(files: paths))
            #expect(report.isClean, "seed \(seed): \(report)")
            #expect(report.totals == direct.totals)
            #expect(report.staleness == direct.staleness)
            #expect(report.fetches == direct.fetches)
        }
    }

    @Test("is not disturbed by a file that has grown since its events were counted")
    func grown() throws {
        let run = try VersionedRun(keyCount: 2, seed: 1)
        let events = [
            Scripted.get(1, key: 0, by: 1, 1...2), Scripted.get(1, key: 0, by: 1, 3...4),
            Scripted.get(1, key: 1, by: 1, 5...6), Scripted.get(1, key: 1, by: 1, 7...8),
        ]
        var starts: [Int: [UInt64]] = [:]
        try KeyRound(from: 0, [1, 1], limit: 10)
            .visitKeys(of: History(run: run, events: events)) { key, events in
                starts[key] = events.map(\.start)
            }
        #expect(starts == [0: [1], 1: [5]])
        starts = [:]
        try KeyRound(from: 0, [3, 2], limit: 10)
            .visitKeys(of: History(run: run, events: events)) { key, events in
                starts[key] = events.map(\.start)
            }
        #expect(starts == [0: [1, 3], 1: [5, 7]])
    }

    @Test("may go backwards within its delay, unless its instances remember what they gave")
    func backwards() throws {
        var found = 0
        for seed in 0..<20 as Range<UInt64> {
            var plan = SimulatedFleet.Plan()
            plan.remembers = false
            let fleet = try SimulatedFleet(plan, seed: seed)
            let history = fleet.history()
            var checker = fleet.checker()
            found += try checker.check(history).violations(.backwards)
            checker.monotoneReads = false
            #expect(try checker.check(history).isClean, "seed \(seed)")
        }
        #expect(found > 0)
    }

    @Test("is found at fault as soon as less is allowed than it needs", arguments: 0..<10)
    func tightBounds(seed: UInt64) throws {
        let fleet = try SimulatedFleet(SimulatedFleet.Plan(), seed: seed)
        let history = fleet.history()
        var checker = fleet.checker()
        let worst = try checker.check(history).worstStaleness
        checker.bounds.normal.fleet = worst
        #expect(try checker.check(history).isClean, "seed \(seed)")
        checker.bounds.normal.fleet = worst - .nanoseconds(1)
        #expect(try checker.check(history).violationCounts.keys.contains(.stale), "seed \(seed)")
        #expect(worst <= .nanoseconds(2_000) && worst > .zero)
    }

    @Test("of a million events is checked in a blink")
    func large() throws {
        #if DEBUG
        // Without optimisation the same takes some fifteen times as long.
        let events = 100_000
        #else
        let events = 1_000_000
        #endif
        let run = try VersionedRun(keyCount: 1_000, seed: 1)
        var made: [HistoryEvent] = []
        made.reserveCapacity(events)
        var versions: [UInt64] = Array(repeating: 1, count: run.keyCount)
        var generator = SeededGenerator(seed: 1)
        var time: UInt64 = 1
        while made.count < events {
            time += 1_000
            let key = UInt32(generator.next() % 1_000)
            let instance = UInt32(generator.next() % 8)
            if generator.once(in: 20) {
                versions[Int(key)] += 1
                made.append(Scripted.write(versions[Int(key)], key: key, by: instance, time...time + 10))
                made.append(Scripted.invalidate(versions[Int(key)], key: key, by: instance, time + 20...time + 50))
            } else {
                made.append(Scripted.get(versions[Int(key)], key: key, by: instance, time...time + 100))
            }
        }
        var checker = StalenessChecker(bounds: StalenessBounds(normal: StalenessBound(fleet: .zero)))
        checker.monotoneReads = true
        checker.oneFetch = OneFetchRule()
        // One old read among the million must be found.
        made[events / 2] = Scripted.get(1, key: made[events / 2].key, by: 3, time + 1_000...time + 1_001)
        let history = History(run: run, events: made)
        let clock = ContinuousClock()
        var report: StalenessReport?
        let duration = try clock.measure { report = try checker.check(history) }
        print("checked \(made.count) events on \(run.keyCount) keys in \(duration)")
        #expect(report?.violationCounts == [.stale: 1])
    }
}

extension SimulatedFleet {
    /// No read of the fleet lasts as long as that.
    static let orphanLimit: UInt64 = 1_000_000

    /// A checker that allows the fleet exactly what its plan allows itself.
    func checker() -> StalenessChecker {
        var checker = StalenessChecker(
            bounds: StalenessBounds(normal: StalenessBound(fleet: .nanoseconds(Int64(plan.delay)), own: .zero))
        )
        checker.tags = tags
        checker.monotoneReads = true
        checker.oneFetch = OneFetchRule(leaseLead: .zero, ambiguity: .zero)
        checker.orphanWaits = OrphanWaitRule(limit: .nanoseconds(Int64(Self.orphanLimit)))
        return checker
    }
}
