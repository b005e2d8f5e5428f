import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Counts how many run at once, and how often one ran.
private final class Occupancy: Sendable {
    private let counts = Locked((running: 0, most: 0, total: 0))

    var most: Int { counts.withLock { $0.most } }
    var total: Int { counts.withLock { $0.total } }

    func enter() {
        counts.withLock { counts in
            counts.running += 1
            counts.total += 1
            counts.most = max(counts.most, counts.running)
        }
    }

    func leave() { counts.withLock { $0.running -= 1 } }
}

@Suite("One of us at a time", .timeLimit(.minutes(5)))
struct WithLeaseTests {
    private let name = TestServer.uniqueName("lease")

    @Test("bodies of several instances never overlap, and all run")
    func exclusive() async throws {
        try await RedisServer.withServer { server in
            let clients = try (0..<4).map { _ in try TestServer.client(of: server) }
            let occupancy = Occupancy()
            let options = LeaseOptions(
                duration: .seconds(60),
                renewalLimit: .seconds(600),
                waitLimit: .seconds(600)
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in clients {
                    for _ in 0..<5 {
                        group.addTask {
                            try await client.withLease(name, options: options) { _ in
                                occupancy.enter()
                                await Task.yield()
                                occupancy.leave()
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(occupancy.most == 1)
            #expect(occupancy.total == 20)
        }
    }

    @Test("the result and the error of the work come through, and the lease is ended either way")
    func outcome() async throws {
        struct Failure: Error, Equatable {}
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            #expect(try await redis.withLease(name, options: .lasting) { $0.isHeld ? 5 : 0 } == 5)
            await #expect(throws: Failure()) {
                try await redis.withLease(name, options: .lasting) { _ in throw Failure() }
            }
            #expect(try await server.command("DBSIZE").integer == 0)
        }
    }

    @Test("who cannot have it in time is told so; a caller that is cancelled stops waiting")
    func waiting() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let gate = AsyncGate()
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let holder = Task { try await redis.withLease(name, options: options) { _ in try await gate.pass() } }
            await gate.arrivals()
            let error = await #expect(throws: CacheError.self) {
                try await redis.withLease(name, options: LeaseOptions(waitLimit: .milliseconds(50))) { _ in }
            }
            #expect(error?.code == .timeout)
            let before = try await server.calls(of: "evalsha")
            let waiter = Task {
                try await redis.withLease(name, options: LeaseOptions(waitLimit: .seconds(600))) { _ in }
            }
            while try await server.calls(of: "evalsha") == before { try await nextTurn() }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            gate.open()
            try await holder.value
        }
    }

    @Test("a lease that is taken away is noticed by its holder, and another's is left alone", arguments: [false, true])
    func lost(isAnothers: Bool) async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let gate = AsyncGate()
            // Renewed for longer than the test may take, and in time also on a busy machine: only a refusal tells.
            let options = LeaseOptions(duration: .seconds(3), renewalLimit: .seconds(3_600))
            let holder = Task {
                try await redis.withLease(name, options: options) { lease in
                    try await gate.pass()
                    while lease.isHeld { try await nextTurn() }
                    return "noticed"
                }
            }
            await gate.arrivals()
            let names = Keyspace("leases").names(for: name.keyBytes)
            if isAnothers {
                try await redis.set(names.lease, LeaseRecord.new(holder: "another").bytes)
            } else {
                try await redis.delete(names.lease)
            }
            gate.open()
            #expect(try await holder.value == "noticed")
            #expect(try await redis.timeToLive(of: names.lease) == (isAnothers ? .unlimited : .absent))
        }
    }

    @Test("work that takes longer than its lease is renewed notices that, too; what is given back is kept no more")
    func renewedNoMore() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let options = LeaseOptions(duration: .seconds(2), renewalLimit: .seconds(3))
            let begin = MonotonicInstant.now
            let outlived = try await redis.withLease(name, options: options) { lease in
                // A busy machine may begin when it is over.
                let wasHeld = lease.isHeld || begin.duration(to: .now) >= options.duration
                while lease.isHeld { try await nextTurn() }
                return wasHeld
            }
            #expect(outlived)
            #expect(try await redis.withLease(name, options: .lasting) { _ in redis.leases.count } == 1)
            #expect(redis.leases.count == 0)
        }
    }

    @Test("a level's reads are pooled across instances")
    func pooledAcross() async throws {
        try await RedisServer.withServer { server in
            let gate = AsyncGate()
            let calls = Occupancy()
            let slow = ClosureFetcher<String, String> { _ in
                calls.enter()
                try await gate.pass()
                return "value"
            }
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let instances = try (0..<3)
                .map { _ in
                    slow.pooled(
                        across: RedisLevel(try TestServer.client(of: server), keyspace: Keyspace(name)),
                        options
                    )
                }
            let tasks = instances.map { instance in Task { try await instance.get("k") } }
            await gate.arrivals()
            while instances.reduce(0, { $0 + $1.level.statistics.waits }) < 2 { try await nextTurn() }
            gate.open()
            for task in tasks { #expect(try await task.value == "value") }
            #expect(calls.total == 1)
        }
    }
}
