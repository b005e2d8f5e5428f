import Strata
import StrataTesting
import Testing

@Suite("Caches by name", .timeLimit(.minutes(5)))
struct CacheRegistryTests {
    private typealias Numbers = Composed<MemoryLevel<Int, Int>, Source<Int, Int>>

    private static func numbers() -> Numbers { MemoryLevel(limit: .entries(10)).compose(Source { $0 * 2 }) }

    @Test("the cache of a name is made once, and is the same for all who ask")
    func sameForAll() async throws {
        let caches = CacheRegistry()
        try await withThrowingTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    ObjectIdentifier(try caches.cache("numbers") { Self.numbers() }.upper)
                }
            }
            var seen: Set<ObjectIdentifier> = []
            for try await cache in group { seen.insert(cache) }
            #expect(seen.count == 1)
        }
        #expect(try await caches.cache("numbers", as: Numbers.self).get(4) == 8)
        #expect(try await caches.cache("numbers", Int.self, Int.self).get(5) == 10)
        #expect(caches.names == ["numbers"])
    }

    @Test("other types under a name are a typed error, and the cache stays")
    func otherTypes() async throws {
        let caches = CacheRegistry()
        try caches.add(Self.numbers(), as: "numbers")
        #expect { try caches.cache("numbers", Int.self, String.self) } throws: { isError($0, .otherTypes) }
        #expect { try caches.cache("numbers", String.self, Int.self) } throws: { isError($0, .otherTypes) }
        #expect { try caches.cache("numbers", as: MemoryLevel<Int, Int>.self) } throws: { isError($0, .otherTypes) }
        #expect { try caches.cache("numbers") { MemoryLevel<Int, String>(limit: .entries(1)) } } throws: {
            isError($0, .otherTypes)
        }
        #expect(try await caches.cache("numbers", Int.self, Int.self).get(1) == 2)
    }

    @Test("a free name, one that is taken, and an empty one")
    func names() throws {
        let caches = CacheRegistry()
        #expect { try caches.cache("numbers", Int.self, Int.self) } throws: { isError($0, .unknownCache) }
        #expect { try caches.cache("numbers", as: Numbers.self) } throws: { isError($0, .unknownCache) }
        try caches.add(Self.numbers(), as: "numbers")
        #expect { try caches.add(Self.numbers(), as: "numbers") } throws: { isError($0, .nameTaken) }
        #expect { try caches.add(Self.numbers(), as: "") } throws: { isError($0, .nameTaken) }
        #expect { try caches.cache("") { Self.numbers() } } throws: { isError($0, .nameTaken) }
        #expect(caches.remove("numbers"))
        #expect(!caches.remove("numbers"))
        try caches.add(Self.numbers(), as: "numbers")
    }

    @Test("a cache that cannot be made leaves its name free")
    func failing() throws {
        struct Failure: Error {}
        let caches = CacheRegistry()
        #expect(throws: Failure.self) { try caches.cache("numbers") { () throws -> Numbers in throw Failure() } }
        #expect(caches.names.isEmpty)
        _ = try caches.cache("numbers") { Self.numbers() }
    }

    @Test("what is removed is held no longer")
    func released() throws {
        let caches = CacheRegistry()
        weak var memory: MemoryLevel<Int, Int>?
        do {
            let cache = try caches.cache("numbers") { Self.numbers() }
            memory = cache.upper
        }
        #expect(memory != nil)
        caches.remove("numbers")
        #expect(memory == nil)
    }

    @Test("all caches are drained, and give memory back")
    func together() async throws {
        let caches = CacheRegistry()
        let gate = AsyncGate()
        let slow = MemoryLevel<Int, Int>(limit: .entries(10))
            .compose(
                Source(freshness: FreshnessPolicy(hardTimeout: .milliseconds(1))) { key in
                    try await gate.pass()
                    return key
                }
            )
        try caches.add(slow, as: "slow")
        try caches.add(Self.numbers(), as: "numbers")
        let numbers = try caches.cache("numbers", as: Numbers.self)
        _ = try await numbers.get(1)
        _ = try? await slow.get(1)
        await gate.arrivals()
        async let drained: Void = caches.drain(within: .seconds(30))
        gate.open()
        await drained
        #expect(slow.lower.label.counters.contains { $0.name == "under_way" && $0.value == 0 })
        caches.relieve(.critical)
        #expect(numbers.upper.statistics.entries == 0)
        #expect(caches.all.map(\.name) == ["numbers", "slow"])
    }

    private func isError(_ error: any Error, _ code: CacheError.Code) -> Bool { (error as? CacheError)?.code == code }
}
