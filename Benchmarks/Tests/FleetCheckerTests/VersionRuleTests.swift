import FleetChecker
import Testing

@Suite("The rules about versions")
struct VersionRuleTests {
    typealias S = Scripted

    private func counts(
        _ events: [HistoryEvent],
        _ adjust: (inout StalenessChecker) -> Void = { _ in }
    ) throws -> [ViolationKind: Int] {
        try S.check(events, adjust).violationCounts
    }

    @Test("a version may be seen as soon as its write has begun, not before")
    func thinAir() throws {
        let write = S.write(2, 100...120)
        #expect(try counts([write, S.get(2, by: 1, 90...100)]) == [:])
        #expect(try counts([write, S.get(2, by: 1, 90...99)]) == [.thinAir: 1])
        #expect(try counts([write, S.get(3, by: 1, 200...210)]) == [.thinAir: 1])
        #expect(try counts([write, S.get(2, key: 1, by: 1, 200...210)]) == [.thinAir: 1])
        let early = try S.check([write, S.get(2, by: 1, 90...99)])
        #expect(early.examples.first?.description.contains("began 0.000 ms after") == true)
    }

    @Test("the initial version was always there, what lies below it never")
    func initialVersion() throws {
        #expect(try counts([S.get(1, by: 1, 1...2)]) == [:])
        #expect(try counts([S.get(0, by: 1, 1...2)]) == [.thinAir: 1])
        #expect(try S.check(initialVersion: 0, [S.get(0, by: 1, 1...2)]).violations == 0)
        #expect(try S.check(initialVersion: 5, [S.get(4, by: 1, 1...2)]).violationCounts == [.thinAir: 1])
    }

    @Test("a killed write may have made one version that was not recorded, once it had begun")
    func killedWrites() throws {
        let killed = S.killedWrite(100)
        #expect(try counts([killed, S.get(2, by: 1, 90...100), S.get(2, by: 2, 300...310)]) == [:])
        #expect(try counts([killed, S.get(2, by: 1, 90...99)]) == [.thinAir: 1])
        // Seen before that write had begun, it is not its own, however often it is seen later.
        #expect(try counts([killed, S.get(2, by: 1, 90...99), S.get(2, by: 2, 300...310)]) == [.thinAir: 2])
        // One write makes one version: the one that is seen first is granted.
        let two = [S.get(2, by: 1, 200...210), S.get(3, by: 1, 220...230), S.get(3, by: 2, 220...230)]
        #expect(try counts([killed] + two) == [.thinAir: 2])
        #expect(try counts([killed, S.killedWrite(215)] + two) == [:])
        #expect(try counts([killed, S.killedWrite(231)] + two) == [.thinAir: 2])
        // It is granted to a version that can be its own, though another was seen before.
        let late = [S.killedWrite(212), S.get(2, by: 1, 200...210), S.get(3, by: 1, 220...230)]
        #expect(try counts(late) == [.thinAir: 1])
        // A version that is recorded takes nothing from it.
        #expect(
            try counts([killed, S.write(2, 100...110), S.get(2, by: 1, 200...210), S.get(3, by: 1, 220...230)]) == [:]
        )
        // A failed write is as uncertain; a killed one that got as far as its number is not.
        let failed = HistoryEvent(.write, .failed, instance: 9, start: 100, end: 110)
        #expect(try counts([failed, S.get(2, by: 1, 200...210)]) == [:])
        let numbered = HistoryEvent(.write, .open, instance: 9, start: 100, end: 0, version: 2)
        #expect(try counts([numbered, S.get(2, by: 1, 200...210)]) == [:])
        #expect(try counts([numbered, S.get(3, by: 1, 200...210)]) == [.thinAir: 1])
        #expect(try S.check([failed, killed, numbered]).totals.unknownWrites == 3)
        // A killed write alone never requires its version of a read.
        #expect(try counts([numbered, S.invalidate(0, 300...310), S.get(1, by: 1, 900...910)]) == [:])
    }

    @Test("values of strangers and forged ones are told apart and judged no further")
    func wrongValues() throws {
        let change = S.change
        let stranger = S.get(3 << 32 | 1, by: 1, 900...910, outcome: .stranger)
        let forged = S.get(1, by: 1, 900...910, outcome: .forged)
        let report = try S.check(change + [stranger, forged])
        #expect(report.violationCounts == [.stranger: 1, .forged: 1])
        #expect(report.examples.contains { $0.description.contains("the value of key 3") })
        #expect(report.staleness.isEmpty)
    }

    @Test("an instance goes backwards when a read gives less than one that had ended")
    func backwards() throws {
        let writes = [S.write(2, 10...20), S.write(3, 21...22)]
        func counts(_ reads: [HistoryEvent], monotone: Bool = true) throws -> [ViolationKind: Int] {
            try self.counts(writes + reads) { $0.monotoneReads = monotone }
        }
        let newer = S.get(3, by: 1, 100...110)
        #expect(try counts([newer, S.get(2, by: 1, 111...120)]) == [.backwards: 1])
        #expect(try counts([newer, S.get(2, by: 1, 111...120)], monotone: false) == [:])
        #expect(try counts([newer, S.get(2, by: 1, 110...120)]) == [:])
        #expect(try counts([newer, S.get(2, by: 2, 111...120)]) == [:])
        #expect(try counts([newer, S.get(3, by: 1, 111...120)]) == [:])
        #expect(try counts([newer, S.get(2, key: 1, by: 1, 111...120)]) == [.thinAir: 1])
        // Marked reads may go back; unmarked ones after them must not be less than what was seen before.
        #expect(try counts([newer, S.get(2, by: 1, 111...120, marks: .stale)]) == [:])
        #expect(
            try counts([newer, S.get(2, by: 1, 111...120, marks: .stale), S.get(1, by: 1, 130...140)]) == [
                .backwards: 1
            ]
        )
        // A read that is invented shows nothing; one that is stale already is not reported twice.
        #expect(try counts([S.get(9, by: 1, 100...110), S.get(2, by: 1, 111...120)]) == [.thinAir: 1])
        let stale = [S.invalidate(3, 30...40), newer, S.get(2, by: 1, 200...210)]
        #expect(try counts(stale) == [.stale: 1])
        // The long read in between hides neither.
        let nested = [S.get(1, by: 1, 50...500), newer, S.get(2, by: 1, 600...610)]
        #expect(try counts(nested) == [.backwards: 1])
    }
}
