import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The right to keep what was just written", .timeLimit(.minutes(1)))
struct TicketRenewalTests {
    @Test("everybody gets the same ticket, and all others of the key are void when it is settled")
    func once() {
        let gate = FillGate()
        let (before, fetched) = (gate.ticket(for: 7), gate.ticket(for: 7))
        let renewal = TicketRenewal(gate, of: fetched)
        let taken = renewal.take()
        // What levels above still serve lives until they are filled.
        #expect(gate.isLive(taken) && gate.isLive(before))
        renewal.settle()
        #expect(gate.isLive(taken) && !gate.isLive(before) && !gate.isLive(fetched))
        #expect(renewal.take() == taken && gate.isLive(taken))
    }

    @Test("after a change there is no right any more")
    func changed() {
        let gate = FillGate()
        let renewal = TicketRenewal(gate, of: gate.ticket(for: 7))
        gate.void(7)
        #expect(renewal.take() == .void && renewal.take() == .void)
    }

    @Test("a change after the taking voids what was taken")
    func changedLater() {
        let gate = FillGate()
        let renewal = TicketRenewal(gate, of: gate.ticket(for: 7))
        let taken = renewal.take()
        gate.void(7)
        #expect(!gate.isLive(taken) && renewal.take() == taken)
    }

    /// Memory whose writes wait from a certain moment on.
    private final class HeldMemory: ForwardingLevel {
        let base = MemoryLevel<String, String>(limit: .entries(10))
        let hold = Locked<AsyncGate?>(nil)

        func resident(_ key: String, at now: MonotonicInstant) -> Resident<String>? { base.resident(key, at: now) }

        func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
            try await base.entry(for: key, request)
        }

        func commit(_ entry: Entry<String>, for key: String) async throws -> Ticket? {
            if let hold = hold.withLock({ $0 }) { try await hold.pass() }
            return try await base.commit(entry, for: key)
        }
    }

    @Test("while memory is being filled with a refreshed value, it has the one before")
    func hotKey() async throws {
        try await RedisServer.withServer { server in
            let level = try unheard(server)
            try await expectOld(over: level.fetching { _ in "new" }, level)
        }
    }

    @Test("so it has while a level between the two is being filled")
    func hotKeyOfThree() async throws {
        try await RedisServer.withServer { server in
            let level = try unheard(server)
            let between = MemoryLevel<String, String>(limit: .entries(10)).compose(level.fetching { _ in "new" })
            try await expectOld(over: between, level)
        }
    }

    /// A level whose changes nobody tells of: what is not settled by those who fill memory is never settled.
    private func unheard(_ server: RedisServer) throws -> RedisLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: Keyspace(TestServer.uniqueName()), coherence: .none)
    }

    private func expectOld<Lower: CacheLevel<String, String>>(
        over lower: Lower,
        _ level: RedisLevel<String, String>
    ) async throws {
        let memory = HeldMemory()
        let cache = memory.compose(lower)
        let gate = level.shared.gate
        let before = gate.ticket(for: level.fingerprint(of: "k"))
        let old = Entry(
            .value("old"),
            freshUntil: .now.advanced(by: .seconds(-1)),
            staleUntil: .now.advanced(by: .seconds(600)),
            revalidateUntil: .now.advanced(by: .seconds(600)),
            ticket: before
        )
        try await memory.store(old, for: "k")
        let hold = AsyncGate()
        memory.hold.withLock { $0 = hold }
        #expect(try await cache.get("k") == "old")
        await hold.arrivals()
        let (value, receipt) = try await cache.getWithReceipt("k")
        #expect(value == "old" && receipt.origin == .memory)
        hold.open()
        while try await cache.get("k") != "new" { try await nextTurn() }
        // From then on what was read before the write cannot be kept any more.
        while gate.isLive(before) { try await nextTurn() }
    }

    @Test("a value that was fetched for nobody voids the tickets of reads that began before")
    func unclaimed() async throws {
        try await RedisServer.withServer { server in
            let source = CountingSource()
            let cache = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: Keyspace(TestServer.uniqueName()),
                freshness: FreshnessPolicy(freshFor: .milliseconds(1), staleWhileRevalidate: .seconds(600)),
                // Nobody tells of the write, so only the flight itself can.
                coherence: .none
            )
            .fetching { _ in try await source.fetch() }
            try await cache.set("old", for: "k")
            while try await cache.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true {
                try await nextTurn()
            }
            let gate = try #require(cache.gate)
            let ticket = gate.ticket(for: cache.fingerprint(of: "k"))
            #expect(try await cache.get("k") == "old")
            await source.gate.arrivals()
            #expect(gate.isLive(ticket))
            source.gate.open()
            await cache.drain(within: .seconds(30))
            #expect(source.calls == 1 && !gate.isLive(ticket))
        }
    }

    @Test("what nobody settles is settled when the link has told of it, before trust is extended")
    func late() throws {
        let version = EntryVersion.random()
        let keyspace = Keyspace("renewals")
        let coherence = KeyspaceCoherence(
            keyspace: keyspace,
            deafLifetime: .seconds(3),
            look: { _, completion in completion(version) },
            get: { _, completion in completion(nil) },
            tagLookout: { _, _ in }
        )
        coherence.linkEstablished(trustedUntil: .distantFuture)
        let names = keyspace.names(for: Array("k".utf8))
        let gate = coherence.gate
        let ticket = gate.ticket(for: names.fingerprint)
        let begun = MonotonicInstant.now
        coherence.beginWrite(names, version, TicketRenewal(gate, of: ticket))
        coherence.linkTrusted(until: .distantFuture, told: .now)
        // The write is not told of yet.
        #expect(gate.isLive(ticket))
        coherence.changed(names.value.bytes)
        #expect(gate.isLive(ticket))
        // What was written later than that may still be filled: it is no older than what trust is extended for.
        coherence.linkTrusted(until: .distantFuture, told: begun)
        #expect(gate.isLive(ticket))
        coherence.linkTrusted(until: .distantFuture, told: .now)
        #expect(!gate.isLive(ticket))
    }
}
