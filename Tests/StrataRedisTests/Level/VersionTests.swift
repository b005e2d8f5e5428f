import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The version of an entry, in memory and in Redis", .timeLimit(.minutes(5)))
struct VersionTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// Ways to put memory above Redis.
    enum Shape: CaseIterable {
        case plain
        case fetching
        case wrapped
        case transformed
        case aboveSource
        case belowSource

        func cache(
            _ memory: MemoryLevel<String, String>,
            _ level: RedisLevel<String, String>
        ) -> AnyLevel<String, String> {
            let source = ClosureFetcher<String, String> { _ in "fetched" }
            switch self {
            case .plain: return memory.compose(level).normalized()
            case .fetching: return memory.compose(level.fetching(.lasting) { _ in "fetched" }).normalized()
            case .wrapped:
                let wrapped = level.conditioned { _ in true }.pooled().collecting().capped(4).retry().normalized()
                return memory.compose(wrapped).normalized()
            case .transformed:
                return
                    memory.compose(
                        level.transformKeys { (key: String) in key }
                            .transformValues(
                                { (value: String) in String(value.reversed()) },
                                inverse: { (value: String) in String(value.reversed()) }
                            )
                    )
                    .normalized()
            case .aboveSource: return memory.compose(level.compose(source, fillWaitLimit: .seconds(60))).normalized()
            case .belowSource: return memory.compose(level).compose(source, fillWaitLimit: .seconds(60)).normalized()
            }
        }
    }

    /// What a cache has stored: the version in memory and the one in Redis.
    private func withVersions(
        of shape: Shape,
        _ body: (AnyLevel<String, String>, _ versions: () async throws -> [EntryVersion?]) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                codec: .text
            )
            try await level.listens()
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            try await body(shape.cache(memory, level)) {
                let found = memory.glimpse("k")?.entry
                return [found?.version, try await level.entry(for: "k", ReadRequest())?.version]
            }
        }
    }

    @Test(
        "what an instance has set has the version in its memory that Redis holds, and each set another",
        arguments: Shape.allCases
    )
    func set(_ shape: Shape) async throws {
        try await withVersions(of: shape) { cache, versions in
            var seen: Set<EntryVersion> = [.none]
            for tags in [[], ["red"], []] {
                var found: [EntryVersion?]
                // The news of the set before may come during this one: then memory keeps neither.
                repeat {
                    try await cache.set("v", for: "k", tags: tags)
                    found = try await versions()
                } while found[0] == nil
                let version = try #require(found[0])
                #expect(found[1] == version)
                #expect(seen.insert(version).inserted)
                #expect(try await cache.get("k") == "v")
            }
        }
    }

    @Test(
        "what a read has stored in Redis has that version in memory",
        arguments: [Shape.fetching, .aboveSource, .belowSource]
    )
    func read(_ shape: Shape) async throws {
        try await withVersions(of: shape) { cache, versions in
            let begin = MonotonicInstant.now
            #expect(try await cache.get("k") == "fetched")
            let versions = try await versions()
            // On a busy machine the right to fill may be lost: then neither has it.
            if shape != .fetching, versions[1] == nil, mayLoseFill(since: begin) { return }
            #expect(versions[0] != nil && versions[0] != EntryVersion.none && versions[0] == versions[1])
        }
    }

    @Test("an update, too")
    func update() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("a", for: "k")
            let first = try #require(one.memory.glimpse("k")).entry.version
            // The news of the set may come during the update: then memory keeps neither.
            repeat { try await one.cache.update("k") { ($0 ?? "") + "b" } } while one.memory.glimpse("k") == nil
            let second = try #require(one.memory.glimpse("k")).entry.version
            #expect(try await one.level.entry(for: "k", ReadRequest())?.version == second)
            #expect(first != second && second != .none)
        }
    }

    @Test("an entry that was read and is stored again gets another version, in each level")
    func again() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("a", for: "k")
            let old = try #require(try await one.cache.entry(for: "k", ReadRequest()))
            try await one.cache.set("b", for: "k")
            try await one.cache.store(old, for: "k")
            let new = try #require(try await one.level.entry(for: "k", ReadRequest()))
            #expect(new.version != old.version && new.value == "a")
            // Memory may have heard of the set before, and then keeps nothing.
            if let above = one.memory.glimpse("k")?.entry { #expect(above.version == new.version) }
            try await one.level.store(new, for: "k")
            #expect(try await one.level.entry(for: "k", ReadRequest())?.version != new.version)
        }
    }
}
