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

    @Test("who comes second knows of the first, and hears when it has stored its value")
    func holder() async throws {
        let (one, other) = (try await level(), try await level())
        let rights = await one.rights(toFill: ["k"])
        #expect(rights.holder == nil && !rights.haveSeenOther(than: nil))
        let late = await other.rights(toFill: ["k"])
        let holder = try #require(late.holder)
        let waiting = Task { try await holder.ended(by: .distantFuture, pause: .seconds(600)) }
        try await one.store(entry("v", rights), for: "k")
        #expect(try await waiting.value)
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
        var rights: FillRights? = await one.rights(toFill: ["k"])
        let holder = try #require(await other.rights(toFill: ["k"]).holder)
        let waiting = Task { try await holder.ended(by: .distantFuture, pause: .seconds(600)) }
        #expect(rights?.holder == nil)
        rights = nil
        #expect(try await waiting.value)
        #expect(await other.rights(toFill: ["k"]).holder == nil)
    }

    @Test("without a link it is not heard of, and the wait ends by its pause; a caller that leaves waits no longer")
    func unheard() async throws {
        let (one, other) = (try await level(), try await level(.none))
        let rights = await one.rights(toFill: ["k"])
        let holder = try #require(await other.rights(toFill: ["k"]).holder)
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
            let rights = await cache.rights(toFill: ["k"])
            if isOvertaken {
                let before = one.shared.gate.tagChanges
                try await other.invalidate(tag: "t")
                while one.shared.gate.tagChanges == before { try await nextTurn() }
            }
            try await cache.store(entry("old", rights, tags: ["t"]), for: "k")
            #expect(try await cache.get("k") == (isOvertaken ? nil : "old"))
        }
    }
}
