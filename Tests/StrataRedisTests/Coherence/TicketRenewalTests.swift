import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The right to keep what was just written", .timeLimit(.minutes(5)))
struct TicketRenewalTests {
    private let names = Keyspace("renewals").names(for: Array("k".utf8))
    /// Nothing is stored under a lease that has ended because this process stood still.
    private let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))

    /// What hears of changes, and whose looks are answered with this version at once, or by `look`.
    private func coherence(
        _ version: EntryVersion = .random(),
        look: (@Sendable (@escaping @Sendable (EntryVersion?) -> Void) -> Void)? = nil
    ) -> KeyspaceCoherence {
        let coherence = KeyspaceCoherence(
            keyspace: Keyspace("renewals"),
            untrustedLifetime: .seconds(3),
            longestWrite: .seconds(1),
            look: { _, completion in if let look { look(completion) } else { completion(version) } },
            get: { _, completion in completion(nil) },
            tagLookout: { _ in { _, _ in } }
        )
        coherence.linkEstablished(trustedUntil: .now.advanced(by: .seconds(600)))
        return coherence
    }

    private func renewal(_ coherence: KeyspaceCoherence, of ticket: Ticket) -> TicketRenewal {
        TicketRenewal(coherence, of: ticket, for: names.fingerprint)
    }

    @Test("all reads get the same ticket, and all others of the key are void when it is committed")
    func once() {
        let coherence = coherence()
        let gate = coherence.gate
        let (before, fetched) = (gate.ticket(for: names.fingerprint), gate.ticket(for: names.fingerprint))
        let renewal = renewal(coherence, of: fetched)
        let taken = renewal.take()
        // What levels above still serve lives until they are filled.
        #expect(gate.isLive(taken) && gate.isLive(before))
        renewal.commit()
        #expect(gate.isLive(taken) && !gate.isLive(before) && !gate.isLive(fetched))
        #expect(renewal.take() == taken && gate.isLive(taken))
    }

    @Test("a ticket that is not committed yet keeps nothing of its level alive")
    func released() {
        weak var remembered: KeyspaceCoherence?
        do {
            let coherence = coherence()
            remembered = coherence
            #expect(renewal(coherence, of: coherence.gate.ticket(for: names.fingerprint)).take() != .void)
        }
        #expect(remembered == nil)
    }

    @Test("after a change there is no right any more")
    func changed() {
        let coherence = coherence()
        let renewal = renewal(coherence, of: coherence.gate.ticket(for: names.fingerprint))
        coherence.gate.void(names.fingerprint)
        #expect(renewal.take() == .void && renewal.take() == .void)
    }

    @Test("a change after the taking voids what was taken")
    func changedLater() {
        let coherence = coherence()
        let renewal = renewal(coherence, of: coherence.gate.ticket(for: names.fingerprint))
        let taken = renewal.take()
        coherence.gate.void(names.fingerprint)
        #expect(!coherence.gate.isLive(taken) && renewal.take() == taken)
    }

    @Test("without a link nothing is prepared that would never be committed")
    func unheardOf() {
        for untrustedLifetime in [nil, Duration.seconds(3)] {
            let coherence = KeyspaceCoherence(
                keyspace: Keyspace("renewals"),
                untrustedLifetime: untrustedLifetime,
                longestWrite: .seconds(1),
                look: { _, _ in },
                get: { _, _ in },
                tagLookout: { _ in { _, _ in } }
            )
            let before = coherence.gate.ticket(for: names.fingerprint)
            let taken = renewal(coherence, of: before).take()
            #expect(coherence.gate.isLive(taken) && !coherence.gate.isLive(before))
            #expect(coherence.prepared.withLock { $0.isEmpty })
        }
    }

    @Test("the link is lost before the ticket is committed: older entries are void")
    func lost() {
        let coherence = coherence()
        let before = coherence.gate.ticket(for: names.fingerprint)
        let taken = renewal(coherence, of: before).take()
        coherence.linkLost()
        #expect(coherence.gate.isLive(taken) && !coherence.gate.isLive(before))
    }

    @Test(
        "a store is refused, or another begins, while the look at another's write is out: the other's write is heeded"
    )
    func heldNotice() {
        for isRefused in [true, false] {
            let version = EntryVersion.random()
            let answers = Locked<[@Sendable (EntryVersion?) -> Void]>([])
            let coherence = coherence(look: { answer in answers.withLock { $0.append(answer) } })
            let memory = coherence.gate.ticket(for: names.fingerprint)
            coherence.beginWrite(names, version)
            coherence.changed(names.value.bytes)
            #expect(answers.withLock { $0.count } == 1)
            if isRefused { coherence.abandonWrite(names, version) } else { coherence.beginWrite(names, .random()) }
            #expect(!coherence.gate.isLive(memory))
            let later = coherence.gate.ticket(for: names.fingerprint)
            answers.withLock { $0[0] }(.random())
            #expect(coherence.gate.isLive(later))
        }
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
            let level = try await heard(server)
            try await expectOld(over: level.fetching(options) { _ in "new" }, level)
        }
    }

    @Test("so it has while a level between the two is being filled")
    func hotKeyOfThree() async throws {
        try await RedisServer.withServer { server in
            let level = try await heard(server)
            let between = MemoryLevel<String, String>(limit: .entries(10))
                .compose(level.fetching(options) { _ in "new" })
            try await expectOld(over: between, level)
        }
    }

    /// A level whose link is not pinged while the test lasts: what is not committed by those who fill memory is not
    /// committed.
    private func heard(_ server: RedisServer) async throws -> RedisLevel<String, String> {
        let redis = try TestServer.client(of: server) { $0.linkPingInterval = .seconds(50) }
        let level = RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName()))
        try await level.listens()
        return level
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
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == "old" && trace.origin == .memory)
        hold.open()
        while try await cache.get("k") != "new" { try await nextTurn() }
        // From then on what was read before the write cannot be kept any more.
        while gate.isLive(before) { try await nextTurn() }
    }

    @Test("a value that was fetched without a caller voids the tickets of reads that began before")
    func unclaimed() async throws {
        try await RedisServer.withServer { server in
            let source = CountingSource()
            let cache = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: Keyspace(TestServer.uniqueName()),
                freshness: FreshnessPolicy(freshFor: .milliseconds(1), staleWhileRevalidate: .seconds(600)),
                // No link tells of the write, so only the flight itself can.
                coherence: .none
            )
            .fetching(options) { _ in try await source.fetch() }
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

    @Test("what no read commits is committed when the link has told of it, before trust is extended")
    func late() throws {
        let version = EntryVersion.random()
        let coherence = coherence(version)
        let gate = coherence.gate
        let ticket = gate.ticket(for: names.fingerprint)
        let begun = MonotonicInstant.now
        coherence.beginWrite(names, version)
        let taken = renewal(coherence, of: ticket).take()
        coherence.changed(names.value.bytes)
        #expect(gate.isLive(ticket) && gate.isLive(taken))
        // What was written later than that may still be filled: it is no older than what trust is extended for.
        coherence.linkTrusted(until: .now.advanced(by: .seconds(600)), told: begun)
        #expect(gate.isLive(ticket))
        coherence.linkTrusted(until: .now.advanced(by: .seconds(600)), told: .now)
        #expect(!gate.isLive(ticket) && gate.isLive(taken))
    }
}
