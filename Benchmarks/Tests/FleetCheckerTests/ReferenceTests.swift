import FleetChecker
import Testing

@Suite("The checker and the plain reference")
struct ReferenceTests {
    @Test("agree on any history, however absurd", arguments: 0..<150)
    func agree(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func number(_ range: ClosedRange<UInt64>) -> UInt64 { .random(in: range, using: &generator) }
        let initialVersion = number(0...2)
        let reference = ReferenceCheck(
            events: (0..<Int(number(5...90))).map { _ in Self.event(&generator, manyFetches: seed % 3 == 0) },
            initialVersion: initialVersion,
            tags: [0: [0], 1: [0, 1]],
            fleetBound: number(0...40),
            ownBound: number(0...20),
            faultBound: number(0...80),
            recovery: number(0...10),
            leaseLead: number(0...5),
            ambiguity: number(0...30),
            orphanLimit: number(0...25),
            unfinished: number(0...40),
            exceptKeys: number(0...3) == 0 ? [1] : [],
            hardshipRecovery: number(0...10)
        )
        let duration = { (nanoseconds: UInt64) in Duration.nanoseconds(Int64(nanoseconds)) }
        let own = duration(reference.ownBound)
        let report = try Scripted.check(keys: 2, initialVersion: initialVersion, reference.events) {
            $0.bounds.normal = StalenessBound(fleet: duration(reference.fleetBound), own: own)
            $0.bounds.duringFaults = StalenessBound(fleet: duration(reference.faultBound), own: own)
            $0.bounds.recovery = duration(reference.recovery)
            $0.tags = reference.tags
            $0.monotoneReads = true
            $0.oneFetch = OneFetchRule(
                leaseLead: duration(reference.leaseLead),
                ambiguity: duration(reference.ambiguity)
            )
            $0.oneFetch?.exceptKeys = reference.exceptKeys
            $0.orphanWaits = OrphanWaitRule(
                limit: duration(reference.orphanLimit),
                unfinished: duration(reference.unfinished)
            )
            $0.losses = ["loss"]
            $0.hardships = ["hard"]
            $0.hardshipRecovery = duration(reference.hardshipRecovery)
            $0.examplesPerKind = .max
            $0.eventsPerRound = 1
        }
        #expect(report.findings() == reference.findings(), "seed \(seed)")
        #expect(report.fetches.overlaps == reference.overlapCount, "seed \(seed)")
    }

    /// Any event, with times, versions and instances from so small a range that everything collides.
    private static func event(_ generator: inout SeededGenerator, manyFetches: Bool) -> HistoryEvent {
        func number(_ range: ClosedRange<UInt64>) -> UInt64 { .random(in: range, using: &generator) }
        let start = number(1...120)
        let end = start + number(0...30)
        let key = UInt32(number(0...1))
        let instance = UInt32(number(0...3))
        let version = number(0...6)
        let isOpen = number(0...9) == 0
        func event(_ kind: HistoryEvent.Kind, _ outcome: HistoryEvent.Outcome, _ version: UInt64) -> HistoryEvent {
            HistoryEvent(
                kind,
                isOpen ? .open : outcome,
                instance: instance,
                key: kind == .invalidateAll ? 0 : key,
                start: start,
                end: isOpen ? 0 : end,
                version: version
            )
        }
        switch manyFetches ? number(6...13) : number(0...12) {
        case 0...4:
            let outcomes: [HistoryEvent.Outcome] = [.value, .value, .value, .value, .miss, .failed, .stranger, .forged]
            let outcome = version == 0 ? .absent : outcomes[Int(number(0...7))]
            let marks: [ReadMarks] = [[], [], [], .together, .stale, .suspect]
            return Scripted.get(
                version,
                key: key,
                by: instance,
                start...end,
                marks: marks[Int(number(0...5))],
                outcome: outcome
            )
        case 5, 6: return event(.write, .value, max(1, version))
        case 7, 8: return event(.invalidateKey, number(0...5) == 0 ? .failed : .done, number(0...1) * version)
        case 9: return event(number(0...3) == 0 ? .invalidateAll : .invalidateTag, .done, 0)
        case 10: return event(.set, .done, max(1, version))
        case 11: return event(.fetch, .value, version)
        default:
            return number(0...2) == 0
                ? event(.fault, .done, [0, ReferenceCheck.loss, ReferenceCheck.hard][Int(number(0...2))])
                : event(.fetch, .failed, 0)
        }
    }
}
