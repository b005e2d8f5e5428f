import Strata
import StrataTesting
import Testing

@Suite("Providers whose clock a test moves", .timeLimit(.minutes(5)))
struct DrivenProviderTests {
    private let clock = ManualClock()
    private let page = Provider<String>("page", lifetime: EntryLifetime(freshFor: .seconds(200)))
    private let plain = Provider<String>("plain")

    @Test(
        "records end by the clock, their own time or the policy's, with memory and without",
        arguments: ProviderBacking.allCases
    )
    func lifetimes(backing: ProviderBacking) async throws {
        let place = try await clock.driving { try await ProviderPlace(backing) }
        // Two: the second has nothing in memory.
        let caches = try await clock.driving { [try await place.cache(), try await place.cache()] }
        #expect(try await caches[0].value(of: page) { "first" } == "first")
        #expect(try await caches[0].value(of: plain) { "first" } == "first")
        // What Redis tells of time is right to the round trip in which its clock was read.
        try clock.advance(by: .seconds(180))
        for cache in caches { #expect(try await cache.value(of: page) { "second" } == "first") }
        try clock.advance(by: .seconds(40))
        #expect(try await caches[0].value(of: page) { "second" } == "second")
        for cache in caches { #expect(try await cache.value(of: plain) { "second" } == "first") }
        try clock.advance(by: .seconds(100))
        #expect(try await caches[1].value(of: plain) { "second" } == "second")
    }
}
