import FleetChecker
import Testing

@Suite("A history with planted violations")
struct PlantedViolationTests {
    private func planted(_ seed: UInt64) throws -> (SimulatedFleet, PlantedViolations) {
        var plan = SimulatedFleet.Plan()
        plan.operations = 300
        plan.keys = 3
        plan.delay = [500, 2_000][Int(seed % 2)]
        plan.initialVersion = seed / 2 % 2
        // A killed write may have made any version: what is invented and what is not would not be certain.
        plan.kills = 0
        let fleet = try SimulatedFleet(plan, seed: seed)
        _ = fleet.history()
        return (fleet, PlantedViolations(fleet, seed: seed))
    }

    private func check(_ fleet: SimulatedFleet, _ violations: PlantedViolations) throws -> StalenessReport {
        var checker = fleet.checker()
        checker.examplesPerKind = .max
        return try checker.check(History(run: fleet.run, events: violations.events))
    }

    @Test("of one kind is found at fault for exactly that", arguments: ViolationKind.allCases, 0..<6)
    func oneKind(kind: ViolationKind, seed: UInt64) throws {
        var (fleet, violations) = try planted(seed)
        for count in 1...3 {
            // Not every history has room for three.
            let found = violations.plant(kind)
            try #require(found || count > 1, "seed \(seed)")
            let report = try check(fleet, violations)
            #expect(report.findings() == violations.planted.sorted(), "seed \(seed), \(count) planted")
            #expect(report.violations(kind) == violations.planted.count)
        }
    }

    @Test("of many kinds is found at fault for all of them and nothing else", arguments: 0..<30)
    func manyKinds(seed: UInt64) throws {
        var (fleet, violations) = try planted(seed)
        var generator = SeededGenerator(seed: ~seed)
        for _ in 0..<Int.random(in: 0...14, using: &generator) {
            guard let kind = ViolationKind.allCases.randomElement(using: &generator) else { continue }
            _ = violations.plant(kind)
        }
        let report = try check(fleet, violations)
        #expect(report.findings() == violations.planted.sorted(), "seed \(seed)")
        #expect(report.isClean == violations.planted.isEmpty)

        let folder = try TemporaryFolder()
        let path = folder.file("a")
        do {
            let recorder = try HistoryRecorder(creating: path, run: fleet.run)
            for event in violations.events { recorder.record(event) }
        }
        let recorded = try fleet.checker().check(History(files: [path]))
        #expect(recorded.violationCounts == report.violationCounts, "seed \(seed)")
    }
}
