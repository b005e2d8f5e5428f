import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A class as a record.
private final class Person: Codable, Sendable, Equatable {
    let name: String
    let friends: [Person]

    init(_ name: String, _ friends: [Person] = []) {
        self.name = name
        self.friends = friends
    }

    static func == (left: Person, right: Person) -> Bool { left.name == right.name && left.friends == right.friends }
}

private struct Shelf: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable { case wood, steel }
    var kind: Kind
    var widths: [Double]
    var label: String?
    var rows: [String: Set<Int>]
}

@Suite("Providers: what lies below memory", .timeLimit(.minutes(5)))
struct ProviderPersistenceTests {
    private let loader = CountedLoader()
    /// By how many seconds ends may differ between two instances, each of which has read the server's time late.
    private let clockError = 30

    /// What a record that does not expire has left at least: over Redis, for which invalidations are remembered 30
    /// days.
    private func endless(_ backing: ProviderBacking) -> Duration {
        .seconds(backing == .redis ? 29 * 86_400 : 99 * 365 * 86_400)
    }

    /// How long an entry of the record is fresh and kept yet, and how old it is, as the level below memory has it.
    private func times(
        _ cache: ProviderCache,
        _ provider: some CacheProvider
    ) async throws -> (fresh: Duration, kept: Duration, age: Duration?) {
        let entry = try #require(try await cache.levels.entry(for: ProviderRecord.Key(provider), ReadRequest()))
        let now = MonotonicInstant.now
        return (now.duration(to: entry.freshUntil), now.duration(to: entry.staleUntil), entry.age(at: now))
    }

    @Test(
        "A226 what lies below follows saves, overwrites and evictions, and keeps time, lifetime and source",
        arguments: ProviderBacking.allCases
    )
    func reflected(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let short = Provider<[String]>("short", lifetime: EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(40)))
        let always = Provider<[String]>("always", lifetime: .unlimited)
        try await cache.set(["1"], for: short)
        _ = try await cache.value(of: always, orLoad: loader.load(["1"]))
        #expect(try await place.cache().value(of: short) == ["1"])
        try await cache.set(["2"], for: short)
        let restarted = try await place.cache()
        let (value, trace) = try await restarted.valueWithTrace(of: short, orLoad: loader.failing())
        #expect(value == ["2"] && trace.origin != .memory && trace.origin != .source)
        for end in try await [times(place.cache(), short), times(restarted, short)] {
            #expect(end.fresh > .seconds(1) && end.fresh <= .seconds(60 + clockError))
            #expect(end.kept - end.fresh > .seconds(39) && end.kept - end.fresh < .seconds(41))
            let age = try #require(end.age)
            #expect(age >= .zero && age < .seconds(59))
        }
        // The flag of what does not expire is its end.
        #expect(try await times(place.cache(), always).fresh > endless(backing))
        try await cache.evict(.record, of: short)
        #expect(try await place.cache().value(of: short) == nil)
        #expect(try await place.cache().value(of: always) == ["1"])
        try await cache.clear()
        #expect(try await place.cache().value(of: always) == nil)
    }

    @Test(
        "a record without a lifetime of its own has that of the policy, also in memory",
        arguments: ProviderBacking.allCases
    )
    func policy(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let (set, updated, listed) = (Provider<[Int]>("set"), Provider<[Int]>("updated"), Provider<[Int]>("listed"))
        try await cache.set([1], for: set)
        try await cache.update(updated) { _ in [1] }
        try await cache.apply(ListActions().addLast(1), to: listed)
        for provider in [set, updated, listed] {
            #expect(try await times(place.cache(), provider).fresh <= .seconds(300 + clockError))
        }
        guard backing != .redis else { return }
        for provider in [set, updated, listed] { #expect(try await times(cache, provider).fresh <= .seconds(300)) }
    }

    @Test("A227 structs, enums and classes come back as they were", arguments: ProviderBacking.allCases)
    func codable(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let person = Person("ann", [Person("bob"), Person("🙂", [Person("")])])
        let shelf = Shelf(
            kind: .steel,
            widths: [0.1, -.infinity, .greatestFiniteMagnitude],
            rows: ["": [], "a": [1, 2]]
        )
        try await cache.set(person, for: Provider("person"))
        _ = try await cache.value(of: Provider<[Shelf]>("shelves"), orLoad: loader.load([shelf, shelf]))
        let restarted = try await place.cache()
        let found = try #require(try await restarted.value(of: Provider<Person>("person")))
        #expect(found == person && found !== person)
        #expect(try await restarted.value(of: Provider<[Shelf]>("shelves")) == [shelf, shelf])
    }

    @Test("A229 without a configuration no stale value is served", arguments: ProviderBacking.allCases)
    func defaults(_ backing: ProviderBacking) async throws {
        var policy = FreshnessPolicy()
        policy.freshFor = .milliseconds(1)
        let cache = try await ProviderPlace(backing).cache(policy)
        _ = try await cache.value(of: Pages.all, orLoad: loader.load(["old"]))
        // The lifetime of a millisecond is over once a later one is seen to be missing.
        while try await cache.value(of: Pages.all) != nil { try await nextTurn() }
        await #expect(throws: CountedLoader.Failure.self) {
            _ = try await cache.value(of: Pages.all, orLoad: loader.failing())
        }
    }

    @Test(
        "A250 what does not expire stays so when it is changed, and a chain that is used again begins with its list as it is",
        arguments: ProviderBacking.allCases
    )
    func unlimited(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let always = Provider<[String]>("always", lifetime: .unlimited)
        let first = ListActions<String>().addLast("1")
        #expect(try await cache.apply(first, to: always) == ["1"])
        // The chain is a value: what comes of it does not change it, and nothing that ran is run again.
        let second = first.addLast("2")
        #expect(try await cache.apply(second, to: Provider<[String]>("other")) == ["1", "2"])
        #expect(try await cache.apply(first, to: always) == ["1", "1"])
        #expect(try await cache.apply(ListActions().addFirst("0"), to: always) == ["0", "1", "1"])
        #expect(try await times(cache, always).fresh > endless(backing))
        #expect(try await times(place.cache(), always).fresh > endless(backing))
        try await cache.update(always) { $0.map { $0 + ["3"] } }
        #expect(try await times(place.cache(), always).fresh > endless(backing))
        // Also by one who does not know what the record was made with.
        try await cache.update(Provider<[String]>("always")) { $0.map { $0 + ["4"] } }
        #expect(try await cache.apply(ListActions().evictFirst(), to: Provider("always")) == ["1", "1", "3", "4"])
        #expect(try await times(place.cache(), always).fresh > endless(backing))
    }
}
