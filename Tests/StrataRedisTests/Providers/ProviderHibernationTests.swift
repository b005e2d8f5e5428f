import Strata
import StrataRedis
import StrataTestSupport
import StrataTesting
import Testing

@Suite("Records of providers, hibernated and read back", .timeLimit(.minutes(1)))
struct ProviderHibernationTests {
    private struct Greeting: CacheProvider {
        typealias Value = String

        let id: Int
        var name: String { "greeting" }
        var key: ProviderKey { .key(id) }
    }

    @Test("records are back, and what was evicted meanwhile is not")
    func roundTrip() async throws {
        let folder = try ScratchFolder()
        let place = try await ProviderPlace(.redis)
        let one = try await place.cache()
        for id in 0..<5 { _ = try await one.value(of: Greeting(id: id)) { "hello \(id)" } }
        let written = try await one.hibernate(to: folder.file)
        #expect(written.written == 5)
        try await one.evict(.key, of: Greeting(id: 3))
        let other = try await place.cache()
        let report = try await other.restore(from: folder.file, within: .seconds(30))
        #expect(report.restored == 4 && report.invalidated == 1)
        let (value, trace) = try await other.valueWithTrace(of: Greeting(id: 2)) { "loaded" }
        #expect(value == "hello 2" && trace.origin == .memory)
        #expect(try await other.value(of: Greeting(id: 3)) { "loaded" } == "loaded")
    }

    #if Disk
    @Test("a cache over a disk needs no file, and says so")
    func disk() async throws {
        let folder = try ScratchFolder()
        let cache = try await ProviderPlace(.disk).cache()
        let errors = [
            await #expect(throws: HibernationError.self) { try await cache.hibernate(to: folder.file) },
            await #expect(throws: HibernationError.self) { try await cache.restore(from: folder.file) },
        ]
        #expect(errors.allSatisfy { $0?.code == .unconfirmable } && folder.names.isEmpty)
    }
    #endif
}
