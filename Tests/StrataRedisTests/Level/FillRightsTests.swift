import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// What a level that is filled by hand, as by `HTTPCache`, learns of others that fill the same key.
@Suite("Rights to fill a level that instances share", .timeLimit(.minutes(5)))
struct FillRightsTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(_ coherence: Coherence = .tracking) async throws -> RedisLevel<String, String> {
        let level = RedisLevel<String, String>(
            try await TestServer.client(),
            keyspace: keyspace,
            codec: .text,
            coherence: coherence
        )
        if coherence == .tracking { try await level.listens() }
        return level
    }

    private func entry(_ value: String, _ rights: FillRights, tags: [String] = []) -> Entry<String> {
        let end = MonotonicInstant.now.advanced(by: .seconds(600))
        var entry = Entry<String>(.value(value), freshUntil: end, tags: tags)
        entry.rights = rights
        return entry
    }

    /// The rights of one level, and their holder as another level sees it that has come later.
    ///
    /// On a busy machine rights may be lost before the other comes. Then both begin anew.
    private func rights(
        of one: RedisLevel<String, String>,
        before other: RedisLevel<String, String>
    ) async throws -> (rights: FillRights, holder: any FillHolder) {
        var isLate = false
        while true {
            let begin = MonotonicInstant.now
            let rights = await one.rights(toFill: ["k"])
            let late = await other.rights(toFill: ["k"])
            if rights.holder == nil, let holder = late.holder { return (rights, holder) }
            isLate = isLate || mayLoseFill(since: begin)
            try #require(isLate, "who comes second does not know of the first")
        }
    }

    @Test("who comes second knows of the first, and hears when it has stored its value")
    func holder() async throws {
        let (one, other) = (try await level(), try await level())
        while true {
            let begin = MonotonicInstant.now
            let (rights, holder) = try await self.rights(of: one, before: other)
            #expect(!rights.haveSeenOther(than: nil))
            let waiting = Task { try await holder.ended(by: .distantFuture, pause: .seconds(600)) }
            try await one.store(entry("v", rights), for: "k")
            guard rights.refusal == nil else {
                try #require(mayLoseFill(since: begin))
                waiting.cancel()
                continue
            }
            #expect(try await waiting.value)
            break
        }
        #expect(try await other.get("k") == "v")
        // What is there now is another entry than none.
        let next = await other.rights(toFill: ["k"])
        #expect(next.holder == nil && next.haveSeenOther(than: nil))
        let version = try await other.entry(for: "k", ReadRequest())?.version
        #expect(!next.haveSeenOther(than: version))
    }

    @Test("a right that ends unused is heard of, too")
    func unused() async throws {
        let (one, other) = (try await level(), try await level())
        func isHeard() async throws -> Bool {
            let waiting: Task<Bool, any Error>
            do {
                let (rights, holder) = try await self.rights(of: one, before: other)
                waiting = Task { try await holder.ended(by: .distantFuture, pause: .seconds(5)) }
                #expect(rights.holder == nil)
            }
            return try await waiting.value
        }
        // Rights that a busy machine has lost end without news.
        while try await !isHeard() {}
        #expect(await other.rights(toFill: ["k"]).holder == nil)
    }

    @Test("without a link it is not heard of, and the wait ends by its pause; a caller that leaves waits no longer")
    func unheard() async throws {
        let (one, other) = (try await level(), try await level(.none))
        let (rights, holder) = try await self.rights(of: one, before: other)
        #expect(try await !holder.ended(by: .distantFuture, pause: .milliseconds(1)))
        let waiting = Task { try await holder.ended(by: .distantFuture, pause: .seconds(600)) }
        while other.shared.waiters.count == 0 { try await nextTurn() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(rights.holder == nil)
    }

    @Test("a tag that is invalidated while a value is made keeps it out of memory above, too")
    func overtaken() async throws {
        let (one, other) = (try await level(), try await level())
        let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(one)
        for isOvertaken in [true, false] {
            var rights: FillRights
            repeat {
                rights = await cache.rights(toFill: ["k"])
                if isOvertaken {
                    let before = one.shared.gate.tagChanges
                    try await other.invalidate(tag: "t")
                    while one.shared.gate.tagChanges == before { try await nextTurn() }
                }
                try await cache.store(entry("old", rights, tags: ["t"]), for: "k")
                // On a busy machine they may be lost.
            } while !isOvertaken && rights.refusal == .leaseLost
            #expect(try await cache.get("k") == (isOvertaken ? nil : "old"))
        }
    }
}
