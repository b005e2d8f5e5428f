import Foundation
import Strata
import StrataRedis
import StrataTestSupport
import StrataTesting
import Testing

@Suite("Records of providers, hibernated and read back", .timeLimit(.minutes(5)))
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

    @Test("what is protected in Redis is protected in the file")
    func protected() async throws {
        let folder = try ScratchFolder()
        let redis = try await TestServer.client()
        let keyspace = Keyspace(TestServer.uniqueName())
        let mask = ByteStage(identifier: 200, name: "mask") { bytes, _ in
            bytes.map { $0 ^ 0x5a }
        } undo: { bytes, _ in
            bytes.map { $0 ^ 0x5a }
        }
        func cache() async throws -> ProviderCache {
            let level = RedisLevel<ProviderRecord.Key, ProviderRecord>(
                redis,
                keyspace: keyspace,
                codec: .records.protected(by: mask)
            )
            try await level.ready(within: .seconds(60))
            return ProviderCache(over: level.fetchingPerCall(LeaseOptions(duration: .seconds(60))))
        }
        let one = try await cache()
        #expect(try await one.value(of: Greeting(id: 0)) { "hello" } == "hello")
        #expect(try await one.hibernate(to: folder.file).written == 1)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file))
        #expect(bytes.range(of: Data("hello".utf8)) == nil)
        #expect(bytes.range(of: Data("hello".utf8.map { $0 ^ 0x5a })) != nil)
        let other = try await cache()
        #expect(try await other.restore(from: folder.file, within: .seconds(30)).restored == 1)
        #expect(try await other.value(of: Greeting(id: 0)) { "loaded" } == "hello")
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
