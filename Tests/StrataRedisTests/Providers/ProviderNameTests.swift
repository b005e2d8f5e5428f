import Strata
import StrataTesting
import Testing

@testable import StrataRedis

private enum Catalogue: CacheProvider {
    typealias Value = String
    case front
    case item(Int)
    case named

    var key: ProviderKey { if case .item(let number) = self { .key(number) } else { .single } }
}

private enum Archive {
    enum Catalogue: CacheProvider {
        typealias Value = String
        case front
    }
}

private struct Settings: CacheProvider {
    typealias Value = [String: String]
}

/// A provider whose parts a test gives.
private struct Given: CacheProvider {
    typealias Value = String
    var name: String
    var key: ProviderKey
    var schema: UInt32 = 0
    var lifetime: EntryLifetime = .byPolicy
    var tags: [String] = []
}

@Suite("Providers: names, keys and stored forms", .timeLimit(.minutes(5)))
struct ProviderNameTests {
    @Test("A224 a provider is named by its type and its case without arguments, the same in every build")
    func names() {
        #expect(Catalogue.front.name == "StrataRedisTests.Catalogue.front")
        #expect(Catalogue.item(7).name == "StrataRedisTests.Catalogue.item")
        #expect(Catalogue.item(7).name == Catalogue.item(8).name)
        #expect(Archive.Catalogue.front.name == "StrataRedisTests.Archive.Catalogue.front")
        #expect(Settings().name == "StrataRedisTests.Settings")
        #expect(Provider<Int>("mine").name == "mine")
        enum Local: CacheProvider {
            typealias Value = Int
            case only
        }
        #expect(!Local.only.name.contains("unknown context"))
        #expect(Local.only.name.hasSuffix("Local.only"))
    }

    @Test("A225 hostile names and keys neither collide nor fail to persist", arguments: ProviderBacking.allCases)
    func hostile(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let long = String(repeating: "long/", count: 2_000)
        let providers: [Given] = [
            Given(name: "a", key: .group("b", "c")), Given(name: "a", key: .key("b:c")),
            Given(name: "a:b", key: .key("c")),
            Given(name: "a:b:c", key: .single), Given(name: "a", key: .group("b:c", "")),
            Given(name: "a", key: .key("")),
            Given(name: "a", key: .single), Given(name: "", key: .single), Given(name: "", key: .key("")),
            Given(name: "a/../b", key: .single), Given(name: "a%3Ab", key: .single),
            Given(name: "a\r\n\0", key: .key("\0")),
            Given(name: long, key: .group(long, long)), Given(name: long, key: .group(long, long + "x")),
        ]
        for (index, provider) in providers.enumerated() { try await cache.set("\(index)", for: provider) }
        let after = try await place.cache()
        for (index, provider) in providers.enumerated() {
            #expect(try await after.value(of: provider) == "\(index)")
        }
        // The same for scopes: each takes only what is its own.
        try await cache.evict(.key, of: Given(name: long, key: .key(long)))
        try await cache.evict(.provider, of: Given(name: "a:b", key: .single))
        let gone: Set = [2, 12, 13]
        let last = try await place.cache()
        for (index, provider) in providers.enumerated() {
            #expect(try await last.value(of: provider) == (gone.contains(index) ? nil : "\(index)"))
        }
    }

    @Test(
        "schema numbers: an older record is loaded anew, a newer one stays for the release that knows it",
        arguments: ProviderBacking.allCases
    )
    func schemas(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        func release(_ schema: UInt32) -> Given { Given(name: "s", key: .single, schema: schema) }
        try await place.cache().set("one", for: release(1))
        let two = try await place.cache()
        #expect(try await two.value(of: release(2)) == nil)
        #expect(try await two.value(of: release(2)) { "two" } == "two")
        #expect(try await place.cache().value(of: release(2)) == "two")
        let one = try await place.cache()
        #expect(try await one.value(of: release(1)) == nil)
        #expect(try await one.value(of: release(1)) { "one again" } == "one again")
        #expect(try await place.cache().value(of: release(2)) == "two")
        // An eviction by one release is one for both.
        try await one.evict(.record, of: release(1))
        #expect(try await place.cache().value(of: release(2)) == nil)
    }

    /// A text that the first release has written in another form.
    private struct Rolled: CacheProvider {
        typealias Value = String
        var name: String { "rolled" }
        var schema: UInt32
        static var codec: Codec<String> {
            .text.migrating { $0.schema == 1 ? "migrated " + String(decoding: $0.bytes, as: UTF8.self) : nil }
        }
    }

    @Test(
        "a record of an older release is migrated where its codec can, and by who changes it",
        arguments: ProviderBacking.allCases
    )
    func migrated(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        try await cache.set("one", for: Rolled(schema: 1))
        #expect(try await cache.value(of: Rolled(schema: 2)) == "migrated one")
        #expect(try await cache.value(of: Rolled(schema: 1)) == "one")
        #expect(try await place.cache().value(of: Rolled(schema: 2)) { "loaded" } == "migrated one")
        #expect(
            try await place.cache().update(Rolled(schema: 2)) { "\($0 ?? "none"), changed" } == "migrated one, changed"
        )
        // There is no way from the second form to a third.
        #expect(try await place.cache().value(of: Rolled(schema: 3)) == nil)
    }

    /// A text that is bound to its place.
    private struct Bound: CacheProvider {
        typealias Value = String
        let id: Int
        var name: String { "bound" }
        var key: ProviderKey { .key(id) }
        static var codec: Codec<String> {
            let stage = ByteStage(identifier: 200, name: "bound") { bytes, context in
                bytes + context
            } undo: { bytes, context in
                guard bytes.suffix(context.count) == context[...] else {
                    throw CacheError(code: .codec, message: "moved")
                }
                return Array(bytes.dropLast(context.count))
            }
            return .text.protected(by: stage)
        }
    }

    @Test("a record that is protected cannot be moved to another key", arguments: ProviderBacking.allCases)
    func moved(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        try await cache.set("eight", for: Bound(id: 8))
        #expect(try await place.cache().value(of: Bound(id: 8)) == "eight")
        let entry = try #require(try await cache.levels.entry(for: ProviderRecord.Key(Bound(id: 8)), ReadRequest()))
        try await cache.levels.store(entry, for: ProviderRecord.Key(Bound(id: 7)))
        #expect(try await place.cache().value(of: Bound(id: 7)) == nil)
    }

    @Test("a record of another type is loaded anew", arguments: ProviderBacking.allCases)
    func otherType(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        try await cache.set(7, for: Provider<Int>("n"))
        #expect(try await cache.value(of: Provider<String>("n")) == nil)
        #expect(try await cache.value(of: Provider<String>("n")) { "seven" } == "seven")
        #expect(try await place.cache().value(of: Provider<String>("n")) == "seven")
    }

    @Test("lifetime and tags are the provider's", arguments: ProviderBacking.allCases)
    func metadata(_ backing: ProviderBacking) async throws {
        let clock = ManualClock()
        let (place, cache) = try await clock.driving {
            let place = try await ProviderPlace(backing)
            return try await (place, place.cache())
        }
        defer { withExtendedLifetime(place) {} }
        let brief = Given(name: "brief", key: .single, lifetime: EntryLifetime(freshFor: .seconds(60)))
        let tagged = Given(name: "tagged", key: .single, tags: ["season"])
        #expect(try await cache.value(of: brief) { "1" } == "1")
        #expect(try await cache.value(of: tagged) { "1" } == "1")
        try await cache.levels.invalidate(tag: "season")
        #expect(try await cache.value(of: tagged) == nil)
        try clock.advance(by: .seconds(59))
        #expect(try await cache.value(of: brief) == "1")
        try clock.advance(by: .seconds(2))
        #expect(try await cache.value(of: brief) == nil)
        #expect(try await cache.value(of: brief) { "2" } == "2")
    }
}
