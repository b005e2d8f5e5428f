import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Conditional changes of declared records", .timeLimit(.minutes(5)))
struct ProviderConditionTests {
    /// A record with a lifetime of its own.
    private enum Token: CacheProvider {
        typealias Value = String
        case of(Int)

        var name: String { "token" }
        var key: ProviderKey { if case .of(let id) = self { .key(id) } else { .single } }
        var lifetime: EntryLifetime { EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(600)) }
    }

    /// The same record in a later form.
    private struct Newer: CacheProvider {
        typealias Value = [String]
        var name: String { "pages" }
        var schema: UInt32 { 7 }
    }

    @Test(
        "set if absent: the first wins, for all instances; what stands there is returned",
        arguments: ProviderBacking.allCases
    )
    func absent(backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let (one, other) = try await (place.cache(), place.cache())
        #expect(try await one.setIfAbsent(["a"], for: Pages.all) == nil)
        #expect(try await other.setIfAbsent(["b"], for: Pages.all) == ["a"])
        #expect(try await one.value(of: Pages.all) == ["a"])
        try await one.evict(.provider, of: Pages.all)
        #expect(try await other.setIfAbsent(["c"], for: Pages.all) == nil)
        #expect(try await other.value(of: Pages.all) == ["c"])
        // Records have the tags of their scopes, whoever has stored them.
        #expect(try await one.setIfAbsent(["d"], for: Pages.page("f", 1)) == nil)
        try await one.evict(.key, of: Pages.filter("f"))
        #expect(try await one.value(of: Pages.page("f", 1)) == nil)
    }

    @Test("a record that its provider does not keep is kept by no update, whatever the cache keeps as stale")
    func unkept() async throws {
        struct Fleeting: CacheProvider {
            typealias Value = String
            var lifetime: EntryLifetime { EntryLifetime(freshFor: .zero) }
        }
        var policy = ProviderPlace.plain
        policy.staleIfError = .seconds(3_600)
        let cache = try await ProviderPlace(.redis).cache(policy)
        #expect(try await cache.update(Fleeting()) { ($0 ?? "") + "a" } == "a")
        #expect(try await cache.update(Fleeting()) { ($0 ?? "") + "a" } == "a")
        #expect(try await cache.setIfAbsent("b", for: Fleeting()) == nil)
    }

    @Test("of many that set at once one wins, and all others are told its value")
    func race() async throws {
        let place = try await ProviderPlace(.redis)
        let caches = try await [place.cache(), place.cache()]
        let answers = try await withThrowingTaskGroup(of: (Int, [String]?).self) { group in
            for number in 0..<16 {
                group.addTask {
                    (
                        number,
                        try await caches[number % 2].setIfAbsent(["\(number)"], for: Pages.all, within: .seconds(60))
                    )
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 ?? ["won"] }
        }
        let winners = answers.filter { $0.value == ["won"] }.map(\.key)
        #expect(winners.count == 1)
        for (number, answer) in answers where number != winners.first {
            #expect(answer == ["\(winners.first ?? -1)"])
        }
    }

    @Test("compare and set: only the expected value is replaced or removed", arguments: ProviderBacking.allCases)
    func compared(backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        #expect(try await cache.compareAndSet(Pages.all, from: nil, to: ["a"]))
        #expect(try await !cache.compareAndSet(Pages.all, from: nil, to: ["b"]))
        #expect(try await !cache.compareAndSet(Pages.all, from: ["x"], to: ["b"]))
        #expect(try await cache.compareAndSet(Pages.all, from: ["a"], to: ["b"]))
        #expect(try await cache.value(of: Pages.all) == ["b"])
        #expect(try await cache.compareAndSet(Pages.all, from: ["b"], to: nil))
        #expect(try await cache.value(of: Pages.all) == nil)
        #expect(try await cache.compareAndSet(Pages.all, from: nil, to: nil))
    }

    @Test("a record that a change makes lives as long as its provider says", arguments: ProviderBacking.allCases)
    func made(backing: ProviderBacking) async throws {
        let cache = try await ProviderPlace(backing).cache()
        #expect(try await cache.update(Token.of(0)) { _ in "a" } == "a")
        #expect(try await cache.compareAndSet(Token.of(1), from: nil, to: "a"))
        for id in 0..<2 {
            let key = ProviderRecord.Key(Token.of(id))
            let entry = try #require(try await cache.levels.entry(for: key, ReadRequest()))
            #expect(entry.freshUntil < MonotonicInstant.now.advanced(by: .seconds(100)))
        }
    }

    @Test("a value that may be nothing comes back from the bytes, too", arguments: ProviderBacking.allCases)
    func optional(backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let provider = Provider<String?>("optional")
        for value in ["value", nil] {
            try await place.cache().set(value, for: provider)
            #expect(try await place.cache().value(of: provider) == .some(value))
        }
    }

    @Test("the record of a newer release is left alone, and that of an older one counts as none")
    func releases() async throws {
        let cache = try await ProviderPlace(.redis).cache()
        try await cache.set(["new"], for: Newer())
        for change in 0..<2 {
            let error = await #expect(throws: CacheError.self) {
                if change == 0 {
                    _ = try await cache.setIfAbsent(["a"], for: Pages.all)
                } else {
                    _ = try await cache.compareAndSet(Pages.all, from: nil, to: ["a"])
                }
            }
            #expect(error?.code == .codec)
        }
        #expect(try await cache.value(of: Newer()) == ["new"])
        try await cache.evict(.record, of: Newer())
        try await cache.set(["old"], for: Pages.all)
        #expect(try await cache.setIfAbsent(["newer"], for: Newer()) == nil)
        #expect(try await cache.value(of: Newer()) == ["newer"])
    }

    @Test(
        "touch gives a record its provider's lifetime anew, expire keeps it as stale",
        arguments: ProviderBacking.allCases
    )
    func lifetimes(backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache(FreshnessPolicy(staleIfError: .seconds(600), jitter: 0, earlyRefresh: 0))
        func left() async throws -> Duration {
            let entry = try await cache.levels.entry(for: ProviderRecord.Key(Token.of(1)), ReadRequest())
            return entry.map { MonotonicInstant.now.duration(to: $0.freshUntil) } ?? .zero
        }
        #expect(try await !cache.touch(Token.of(1)))
        try await cache.set("a", for: Token.of(1))
        #expect(try await cache.touch(Token.of(1), lifetime: EntryLifetime(freshFor: .seconds(6_000))))
        #expect(try await left() > .seconds(5_000))
        #expect(try await cache.touch(Token.of(1)))
        let short = try await left()
        #expect(short > .seconds(40) && short <= .seconds(61))
        #expect(try await cache.expire(Token.of(1)))
        // Stale: served when the loader fails, and loaded otherwise.
        #expect(try await cache.value(of: Token.of(1), orLoad: { throw CountedLoader.Failure() }) == "a")
        #expect(try await !cache.expire(Token.of(2)))
    }
}
