import FleetChecker
import Testing

@Suite("The rule of one fetch")
struct FetchRuleTests {
    typealias S = Scripted

    private func report(
        _ events: [HistoryEvent],
        _ adjust: (inout StalenessChecker) -> Void = { _ in }
    ) throws -> StalenessReport {
        try S.check(events) {
            $0.oneFetch = OneFetchRule(leaseLead: .zero, ambiguity: .nanoseconds(1_000))
            adjust(&$0)
        }
    }

    private let first = S.fetch(1, by: 1, 100...200)

    @Test("is broken by two instances that fetch a key at the same time")
    func overlap() throws {
        let found = try report([first, S.fetch(1, by: 2, 150...160)])
        #expect(found.violationCounts == [.doubleFetch: 1])
        #expect(found.examples.first?.instance == "2")
        #expect(found.fetches.overlaps == 1 && found.fetches.excusedOverlaps == 0)
        #expect(try report([first, S.fetch(1, by: 2, 199...260)]).violations == 1)
        #expect(try report([first, S.fetch(1, by: 2, 200...260)]).violations == 0)
        #expect(try report([first, S.fetch(1, key: 1, by: 2, 150...160)]).violations == 0)
        #expect(try report([first, S.fetch(0, by: 2, 150...160, .failed)]).violations == 1)
        #expect(try report([first, S.fetch(1, by: 2, 150...160), S.fetch(1, by: 3, 155...158)]).violations == 2)
        let unasked = try S.check([first, S.fetch(1, by: 2, 150...160)])
        #expect(unasked.violations == 0)
        #expect(unasked.fetches.overlaps == 1)
    }

    @Test("is not broken by one instance alone, whose longest fetch stays in view")
    func sameInstance() throws {
        let own = [first, S.fetch(1, by: 1, 110...120), S.fetch(1, by: 1, 130...500)]
        #expect(try report(own).violations == 0)
        #expect(try report(own + [S.fetch(1, by: 2, 480...490)]).violations == 1)
        #expect(try report(own + [S.fetch(1, by: 2, 500...510)]).violations == 0)
        // The long fetch of the instance itself does not hide the other's.
        let crossed = [S.fetch(1, by: 2, 90...900), S.fetch(1, by: 1, 950...960)]
        #expect(try report(crossed).violations == 0)
        let hidden = [S.fetch(1, by: 1, 10...900), S.fetch(1, by: 2, 20...300), S.fetch(1, by: 1, 100...110)]
        #expect(try report(hidden).violations == 2)
        let overtaken = [S.fetch(1, by: 2, 10...300), S.fetch(1, by: 1, 20...900), S.fetch(1, by: 1, 100...110)]
        #expect(try report(overtaken).violations == 2)
        #expect(try report(overtaken + [S.fetch(1, by: 1, 310...320)]).fetches.overlaps == 2)
    }

    @Test("is excused by an invalidation between the two")
    func invalidation() throws {
        func violations(_ events: HistoryEvent..., lead: Duration = .zero) throws -> Int {
            try report([first, S.fetch(1, by: 2, 150...160)] + events) {
                $0.oneFetch?.leaseLead = lead
                $0.tags = [4: [0]]
            }
            .violations
        }
        #expect(try violations(S.invalidate(0, 110...120)) == 0)
        #expect(try violations(S.invalidate(0, 140...170)) == 0)
        #expect(try violations(S.invalidate(0, 150...170)) == 0)
        #expect(try violations(S.invalidate(0, 151...170)) == 1)
        #expect(try violations(S.invalidate(0, 90...100)) == 0)
        #expect(try violations(S.invalidate(0, 90...99)) == 1)
        #expect(try violations(S.invalidate(0, 90...99), lead: .nanoseconds(1)) == 0)
        #expect(try violations(S.invalidate(0, key: 1, 110...120)) == 1)
        #expect(try violations(S.invalidate(tag: 4, 110...120)) == 0)
        #expect(try violations(S.invalidate(tag: 5, 110...120)) == 1)
        #expect(try violations(S.invalidateAll(110...120)) == 0)
        let found = try report([first, S.fetch(1, by: 2, 150...160), S.invalidate(0, 110...120)])
        #expect(found.fetches.excusedOverlaps == 1)
        // The voided fetch excuses itself, not the one that began after the invalidation.
        let third = [first, S.invalidate(0, 110...120), S.fetch(1, by: 2, 150...400), S.fetch(1, by: 3, 180...190)]
        #expect(try report(third).violations == 1)
        let thirdLong = [S.fetch(1, by: 1, 100...900), S.fetch(1, by: 1, 130...300), S.invalidate(0, 110...120)]
        #expect(try report(thirdLong + [S.fetch(1, by: 2, 200...210)]).violations == 1)
        #expect(try report(thirdLong + [S.fetch(1, by: 2, 310...320)]).violations == 0)
    }

    @Test("is excused by a failover that may have lost the first one's lease, and by no other")
    func failover() throws {
        func violations(_ from: UInt64, _ until: UInt64, keys: Set<Int>? = nil) throws -> Int {
            let loss = FailoverLoss(from: from, until: until, keys: keys)
            return try report([first, S.fetch(1, by: 2, 150...160)]) { $0.failovers = [loss] }.violations
        }
        #expect(try violations(90, 110) == 0)
        #expect(try violations(140, 170) == 0)
        #expect(try violations(151, 170) == 1)
        #expect(try violations(50, 99) == 1)
        #expect(try violations(90, 110, keys: [1]) == 1)
    }

    @Test("is excused for a while by an invalidation whose effect may still come")
    func ambiguity() throws {
        let late = [S.fetch(1, by: 1, 1_100...1_200), S.fetch(1, by: 2, 1_150...1_160)]
        #expect(try report(late + [S.invalidate(0, 50...99, .failed)]).violations == 1)
        #expect(try report(late + [S.invalidate(0, 50...100, .failed)]).violations == 0)
        #expect(try report(late + [S.killedInvalidation(99)]).violations == 1)
        #expect(try report(late + [S.killedInvalidation(100)]).violations == 0)
    }

    @Test("is excused by a fault between the two, and if the first began in one or in the recovery after it")
    func faults() throws {
        func violations(_ fault: ClosedRange<UInt64>) throws -> Int {
            try report([first, S.fetch(1, by: 2, 150...160), S.fault(fault)]) {
                $0.bounds.recovery = .nanoseconds(10)
            }
            .violations
        }
        #expect(try violations(150...151) == 0)
        #expect(try violations(130...140) == 0)
        #expect(try violations(130...131) == 0)
        #expect(try violations(80...90) == 0)
        #expect(try violations(80...89) == 1)
        #expect(try violations(151...160) == 1)
    }

    @Test("is excused by a hardship as by a fault, with a recovery of its own")
    func hardships() throws {
        func violations(_ hardship: ClosedRange<UInt64>) throws -> Int {
            try report([first, S.fetch(1, by: 2, 150...160), S.fault(hardship, "hard")]) {
                $0.hardships = ["hard"]
                $0.hardshipRecovery = .nanoseconds(10)
                $0.bounds.recovery = .nanoseconds(1_000)
            }
            .violations
        }
        #expect(try violations(150...151) == 0)
        #expect(try violations(80...90) == 0)
        #expect(try violations(80...89) == 1)
        #expect(try violations(151...160) == 1)
    }

    @Test("is excused for pairs of an instance whose hardship it was, the one that is at it or the one that comes")
    func ownHardships() throws {
        let pair = [first, S.fetch(1, by: 2, 150...160)]
        func violations(_ events: [HistoryEvent], of instance: UInt32, _ hardship: ClosedRange<UInt64>) throws -> Int {
            try report(events + [S.fault(of: instance, hardship, "hard")]) {
                $0.hardships = ["hard"]
                $0.hardshipRecovery = .nanoseconds(10)
            }
            .violations
        }
        #expect(try violations(pair, of: 3, 10...400) == 1)
        // The instance that was fetching may have lost its lease at any time since it began.
        #expect(try violations(pair, of: 1, 90...95) == 0)
        #expect(try violations(pair, of: 1, 80...89) == 1)
        #expect(try violations(pair, of: 1, 130...131) == 0)
        // The second instance must be in trouble just then.
        #expect(try violations(pair, of: 2, 130...139) == 1)
        #expect(try violations(pair, of: 2, 130...140) == 0)
        #expect(try violations(pair, of: 2, 151...160) == 1)
        // What is excused with one is not with the next.
        let third = [S.fetch(1, by: 3, 170...180)]
        #expect(try violations(pair + third, of: 2, 130...140) == 1)
        #expect(try violations(pair + third, of: 1, 120...125) == 0)
    }

    @Test("finds whose hardship it was in the files of several processes")
    func ownHardshipsInFiles() throws {
        let folder = try TemporaryFolder()
        let run = try VersionedRun(keyCount: 2, seed: 1)
        for isOther in [false, true] {
            let paths = [folder.file("a\(isOther)"), folder.file("b\(isOther)")]
            // Both instances have the same number in their processes.
            for (path, fetch) in zip(paths, [S.fetch(1, by: 1, 100...200), S.fetch(1, by: 1, 150...160)]) {
                let recorder = try HistoryRecorder(creating: path, run: run)
                recorder.record(fetch)
                if (path == paths[0]) != isOther { recorder.record(S.fault(of: 1, 120...130, "hard")) }
            }
            var checker = StalenessChecker(bounds: StalenessBounds(normal: StalenessBound(fleet: .zero, own: .zero)))
            checker.oneFetch = OneFetchRule(leaseLead: .zero, ambiguity: .zero)
            checker.hardships = ["hard"]
            checker.hardshipRecovery = .nanoseconds(10)
            #expect(try checker.check(History(files: paths)).violations == (isOther ? 1 : 0))
        }
    }

    @Test("takes a fetch whose process was killed to be over")
    func killed() throws {
        let found = try report([S.killedFetch(by: 1, 100), S.fetch(1, by: 2, 150...160)])
        #expect(found.violations == 0)
        #expect(found.fetches.unfinished == 1)
        #expect(try report([first, S.killedFetch(by: 2, 150)]).violations == 1)
    }

    @Test("comes with counts of how often each version was fetched")
    func counts() throws {
        let fetches = [
            S.fetch(1, key: 0, by: 1, 1...2), S.fetch(1, key: 0, by: 2, 3...4), S.fetch(1, key: 0, by: 1, 5...6),
            S.fetch(2, key: 0, by: 1, 7...8), S.fetch(1, key: 2, by: 1, 1...2), S.fetch(1, key: 2, by: 1, 3...4),
            S.fetch(0, key: 2, by: 1, 5...6, .failed), S.killedFetch(key: 2, by: 1, 7),
        ]
        let counts = try report(fetches).fetches
        #expect(counts.fetches == 8 && counts.failed == 1 && counts.unfinished == 1)
        #expect(counts.versions == 3 && counts.repeatedVersions == 2)
        #expect(counts.mostPerVersion == 3 && counts.mostFetchedKey == 0)
    }

    @Test("asks nothing of keys that are excepted")
    func exceptions() throws {
        let events = [S.fetch(1, by: 1, 100...200), S.fetch(1, by: 2, 150...160)]
        #expect(try S.check(events) { $0.oneFetch = OneFetchRule() }.violations == 1)
        let report = try S.check(events) {
            $0.oneFetch = OneFetchRule()
            $0.oneFetch?.exceptKeys = [0]
        }
        #expect(report.violations == 0 && report.fetches.overlaps == 1)
    }
}
