import FleetChecker
import Testing

@Suite("The rule of orphan waits")
struct OrphanWaitRuleTests {
    typealias S = Scripted

    private func violations(_ events: [HistoryEvent], recovery: Int64 = 0) throws -> [ViolationKind: Int] {
        try S.check(events) {
            $0.hardships = ["hard"]
            $0.orphanWaits = OrphanWaitRule(limit: .nanoseconds(100), unfinished: .nanoseconds(300))
            $0.bounds.recovery = .nanoseconds(recovery)
        }
        .violationCounts
    }

    @Test("is broken by a read that lasts longer than the limit while no instance fetches")
    func alone() throws {
        #expect(try violations([S.get(1, by: 1, 100...200)]).isEmpty)
        #expect(try violations([S.get(1, by: 1, 100...201)]) == [.orphanWait: 1])
        #expect(try violations([S.get(1, by: 1, 100...201, outcome: .failed)]) == [.orphanWait: 1])
        #expect(try violations([S.get(1, by: 1, 100...201, marks: .stale)]) == [.orphanWait: 1])
        #expect(try violations([S.get(1, by: 1, 100...201, marks: .together)]).isEmpty)
        #expect(try S.check([S.get(1, by: 1, 100...900)]).violations == 0)
    }

    @Test("is kept while any instance fetches the key, and for the limit before and after")
    func beside() throws {
        let read = S.get(1, by: 1, 100...1_000)
        #expect(try violations([read, S.fetch(1, by: 2, 200...900)]).isEmpty)
        #expect(try violations([read, S.fetch(1, by: 2, 201...900)]) == [.orphanWait: 1])
        #expect(try violations([read, S.fetch(1, by: 2, 200...899)]) == [.orphanWait: 1])
        #expect(try violations([read, S.fetch(1, key: 1, by: 2, 200...900)]) == [.orphanWait: 1])
        #expect(try violations([read, S.fetch(1, by: 2, 50...500), S.fetch(1, by: 3, 600...2_000)]).isEmpty)
        #expect(
            try violations([read, S.fetch(1, by: 2, 50...500), S.fetch(1, by: 3, 601...2_000)]) == [.orphanWait: 1]
        )
        // One within another does not end it.
        #expect(try violations([read, S.fetch(1, by: 2, 50...950), S.fetch(1, by: 3, 60...70)]).isEmpty)
        // A killed fetch counts as running for a while.
        #expect(try violations([read, S.killedFetch(by: 2, 200), S.fetch(1, by: 3, 600...900)]).isEmpty)
        #expect(try violations([read, S.killedFetch(by: 2, 200), S.fetch(1, by: 3, 601...900)]) == [.orphanWait: 1])
    }

    @Test("asks nothing of a read in which a fault lasted, or was just over")
    func faults() throws {
        let read = S.get(1, by: 1, 100...1_000)
        #expect(try violations([read, S.fault(1_000...1_100)]).isEmpty)
        #expect(try violations([read, S.fault(1_001...1_100)]) == [.orphanWait: 1])
        #expect(try violations([read, S.fault(10...99)]) == [.orphanWait: 1])
        #expect(try violations([read, S.fault(10...99)], recovery: 1).isEmpty)
    }

    @Test("does not count the time of a hardship, and counts its recovery")
    func hardships() throws {
        func count(_ hardships: ClosedRange<UInt64>...) throws -> [ViolationKind: Int] {
            try violations([S.get(1, by: 1, 100...400)] + hardships.map { S.fault($0, "hard") })
        }
        #expect(try count(200...399) == [.orphanWait: 1])
        #expect(try count(200...400).isEmpty)
        #expect(try count(100...300, 200...250).isEmpty)
        #expect(try count(10...150, 200...300, 350...900).isEmpty)
        #expect(try count(10...149, 200...300, 350...900) == [.orphanWait: 1])
        #expect(try count(10...99, 401...900) == [.orphanWait: 1])
        // It is taken from each time without a fetch by itself.
        let fetch = S.fetch(1, by: 2, 250...350)
        #expect(
            try violations([S.get(1, by: 1, 100...500), fetch, S.fault(120...170, "hard"), S.fault(360...410, "hard")])
                .isEmpty
        )
        #expect(try violations([S.get(1, by: 1, 100...500), fetch, S.fault(120...170, "hard")]) == [.orphanWait: 1])
    }

    @Test("is told in words")
    func words() throws {
        let report = try S.check([S.get(1, by: 7, 1_000_000...5_000_000), S.fetch(1, by: 1, 1_500_000...2_000_000)]) {
            $0.orphanWaits = OrphanWaitRule(limit: .milliseconds(1))
        }
        #expect(
            report.examples.first?.description.contains("took 4.000 ms, 3.000 ms of it while no instance fetched")
                == true
        )
    }
}

@Suite("What a fault has lost")
struct LossTests {
    typealias S = Scripted

    private func stale(_ invalidation: HistoryEvent, readAt start: UInt64, loss: ClosedRange<UInt64>) throws -> Int {
        var fault = S.fault(loss)
        fault.version = ReferenceCheck.loss
        let events = [S.write(2, 1...2), invalidation, fault, S.get(1, by: 1, start...start + 1)]
        return
            try S.check(events) {
                $0.tags = [4: [0]]
                $0.losses = ["loss"]
            }
            .violations(.stale)
    }

    @Test("requires nothing after tags or everything were invalidated, and still its version after the key was")
    func kinds() throws {
        for invalidation in [S.invalidate(tag: 4, 10...20), S.invalidateAll(10...20)] {
            #expect(try stale(invalidation, readAt: 299, loss: 300...400) == 1)
            #expect(try stale(invalidation, readAt: 300, loss: 300...400) == 0)
            #expect(try stale(invalidation, readAt: 900, loss: 300...400) == 0)
        }
        #expect(try stale(S.invalidate(0, 10...20), readAt: 900, loss: 300...400) == 1)
        #expect(try stale(S.set(2, 10...20), readAt: 900, loss: 300...400) == 1)
    }

    @Test("is what had begun before its end")
    func order() throws {
        #expect(try stale(S.invalidate(tag: 4, 400...410), readAt: 900, loss: 300...400) == 0)
        #expect(try stale(S.invalidate(tag: 4, 401...410), readAt: 900, loss: 300...400) == 1)
    }
}
