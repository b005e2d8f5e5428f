import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Calls that are cancelled at any point", .leavesNothing, .timeLimit(.minutes(5)))
struct CancellationStormTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("half of all calls cancelled: values stay right, nothing is left behind, the connection lives")
    func storm() async throws {
        try await RedisServer.withServer { server in
            let table = Locked(Array(repeating: 0, count: 4))
            let redis = try TestServer.client(of: server)
            // A lease left behind would hold its key for longer than this test may take.
            let options = LeaseOptions(
                duration: .seconds(1_000),
                renewalLimit: .seconds(10_000),
                waitLimit: .seconds(1_000)
            )
            let level = RedisLevel<Int, Int>(redis, keyspace: keyspace)
                .fetching(options) { key in
                    let value = table.withLock { $0[key] }
                    for _ in 0..<20 { await Task.yield() }
                    try Task.checkCancellation()
                    return value
                }
            let cache = MemoryLevel<Int, Int>(limit: .entries(10)).compose(level)
            let read: @Sendable (Int) async throws -> Void = { key in _ = try await cache.get(key) }
            let change: @Sendable (Int) async throws -> Void = { key in
                table.withLock { $0[key] += 1 }
                try await cache.remove(key)
            }
            var random = SplitMix64.announced("cancellation storm")
            let peer = try await redis.send("CLIENT", "ID")
            for _ in 0..<60 {
                let calls = (0..<16).map { _ in (random.next() % 4, Int(random.next() % 4), Int(random.next() % 60)) }
                let tasks = calls.map { kind, key, limit in
                    let call = Task { kind == 0 ? try await change(key) : try await read(key) }
                    return limit < 30 ? leave(call, after: limit) : watch(call)
                }
                for task in tasks { await task.value }
            }
            for key in 0..<4 {
                // A remove that was cancelled may not have happened.
                try await cache.remove(key)
                #expect(try await cache.get(key) == table.withLock { $0[key] })
            }
            #expect(level.waiting == 0)
            #expect(try await redis.send("CLIENT", "ID") == peer)
            // A fetch that was cancelled may still be on its way out.
            while level.level.shared.waiters.count > 0 { try await nextTurn() }
            for key in 0..<4 {
                let lease = keyspace.names(for: key.keyBytes).lease
                while try await redis.exists(lease) > 0 { try await nextTurn() }
            }
        }
    }

    private func watch(_ call: Task<Void, any Error>) -> Task<Void, Never> {
        Task { do { try await call.value } catch { #expect(error is CancellationError) } }
    }

    /// Cancels a call when others have had so many turns.
    private func leave(_ call: Task<Void, any Error>, after turns: Int) -> Task<Void, Never> {
        Task {
            for _ in 0..<turns { await Task.yield() }
            call.cancel()
            await watch(call).value
        }
    }
}
