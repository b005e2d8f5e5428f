import StrataTesting
import Testing

@testable import Strata

@Suite("Old values above a source, in batches", .timeLimit(.minutes(5)))
struct StaleBatchTests {
    private struct Failure: Error, Equatable {}

    /// The keys that fail.
    private final class Failing: Sendable {
        private let state = Locked<Set<String>>([])

        func set(_ keys: Set<String>) { state.withLock { $0 = keys } }

        func contains(_ key: String) -> Bool { state.withLock { $0.contains(key) } }
    }

    private let memory = MemoryLevel<String, String>(limit: .entries(16))
    private let failing = Failing()
    private let gate = AsyncGate()

    private func cache(_ freshness: FreshnessPolicy = FreshnessPolicy()) -> some CacheLevel<String, String> {
        memory.compose(
            Source(freshness: freshness, failureBackOff: nil) { [failing, gate] key in
                if failing.contains("slow") { try await gate.pass() }
                if failing.contains(key) { throw Failure() }
                return key == "none" ? nil : "new \(key)"
            }
        )
    }

    private func age(_ keys: String...) async throws {
        for key in keys { try await memory.store(.aged("old \(key)", fresh: -1, stale: 60), for: key) }
    }

    @Test("a key that fails gets its old value, the others get new ones")
    func failed() async throws {
        try await age("a", "b", "none")
        failing.set(["a"])
        #expect(try await cache().get(["a", "b", "none", "c"]) == ["old a", "new b", nil, "new c"])
        #expect(try await cache().batchGetSome(["a", "b"]) == ["old a", "new b"])
    }

    @Test("a source that throws CancellationError without a cancellation has failed", arguments: [false, true])
    func ownCancellation(isBatch: Bool) async throws {
        try await age("a")
        let cache = memory.compose(Source(failureBackOff: nil) { (_: String) -> String? in throw CancellationError() })
        if isBatch {
            #expect(try await cache.get(["a"]) == ["old a"])
            await #expect(throws: CancellationError.self) { try await cache.get(["a", "b"]) }
        } else {
            #expect(try await cache.get("a") == "old a")
            await #expect(throws: CancellationError.self) { try await cache.get("b") }
        }
    }

    @Test("a batch tells the source of old values, also pooled and transformed", arguments: [["a"], ["a", "b"]])
    func toldThrough(keys: [String]) async throws {
        let told = Locked<[String: String]>([:])
        let source = Source<String, [UInt8]> { key, context in
            told.withLock { $0[key] = context.old.map { String(decoding: $0, as: UTF8.self) } }
            return .value(Array("new".utf8))
        }
        let texts = source.pooled()
            .transformValues(
                TwoWayTransformer<[UInt8], String>(
                    { String(decoding: $0, as: UTF8.self) },
                    inverse: { Array($0.utf8) }
                )
            )
        for key in keys { try await age(key) }
        #expect(try await memory.compose(texts).get(keys) == keys.map { _ in "new" })
        #expect(told.withLock { $0 } == Dictionary(uniqueKeysWithValues: keys.map { ($0, "old \($0)") }))
    }

    @Test("the source is told of each key's old value")
    func told() async throws {
        try await age("a", "b")
        let told = Locked<[String: String?]>([:])
        let cache = memory.compose(
            Source<String, String> { key, context in
                told.withLock { $0[key] = .some(context.old) }
                return context.old == nil ? .value("new") : .notModified(lifetime: .init(freshFor: .seconds(60)))
            }
        )
        #expect(try await cache.get(["a", "c", "b"]) == ["old a", "new", "old b"])
        #expect(told.withLock { $0 } == ["a": "old a", "b": "old b", "c": nil])
        #expect(memory.resident("a", at: .now)?.value == "old a")
    }

    @Test("it is told of them also where they could not be served")
    func toldOfUnwanted() async throws {
        let told = Locked<[String?]>([])
        let cache = memory.compose(
            Source<String, String> { _, context in
                told.withLock { $0.append(context.old) }
                return .notModified(lifetime: .init(freshFor: .seconds(60)))
            }
        )
        for key in ["a", "b"] { try await memory.store(.aged("old \(key)", fresh: 60, stored: -20), for: key) }
        #expect(try await cache.get(["a", "b"], .reload) == ["old a", "old b"])
        for key in ["a", "b"] { try await memory.store(.aged("old \(key)", fresh: 60, stored: -20), for: key) }
        let recent = ReadOptions(maximumAge: .seconds(10))
        #expect(try await cache.transformKeys { "\($0)" }.get(["a"[...], "b"[...]], recent) == ["old a", "old b"])
        #expect(told.withLock { $0.compactMap { $0 }.sorted() } == ["old a", "old a", "old b", "old b"])
    }

    @Test("levels whose keys have other names tell it as well")
    func toldByOtherNames() async throws {
        let source = Source<String, String> { key, context in
            context.old.map { $0 == "old \(key.dropFirst())" ? .notModified() : .value("another's") } ?? .value("none")
        }
        // The name of each is that of another.
        let cache = memory.compose(source.transformKeys { (key: String) in "p\(key)" })
        let keys = ["a", "pa", "ppa"]
        for key in keys { try await age(key) }
        #expect(try await cache.get(keys) == keys.map { "old \($0)" })
    }

    @Test("one without an old value fails the batch with its own error, unless failures are left out")
    func withoutOld() async throws {
        try await age("a")
        failing.set(["c"])
        await #expect(throws: Failure()) { try await cache().get(["a", "c"]) }
        #expect(try await cache().batchGetSome(["a", "c"]) == ["new a"])
        try await age("a")
        failing.set(["a", "c"])
        await #expect(throws: Failure()) { try await cache().get(["a", "c"]) }
        #expect(try await cache().batchGetSome(["a", "c"]) == ["old a"])
    }

    @Test("a source that is too slow is waited for no longer than the soft timeout, when all could have old values")
    func slow() async throws {
        try await age("a", "b")
        failing.set(["slow"])
        let cache = cache(FreshnessPolicy(softTimeout: .milliseconds(5)))
        #expect(try await cache.get(["a", "b"]) == ["old a", "old b"])
        gate.open()
        await cache.drain(within: .seconds(30))
    }
}
