import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Holders of leases that are killed or stopped", .leavesNothing, .timeLimit(.minutes(5)))
struct HolderFaultTests {
    private let keyspace = TestServer.uniqueName()
    private let source = CountingSource()

    private var names: KeyNames { Keyspace(keyspace).names(for: "k".keyBytes) }

    /// An instance in this process whose source answers "other".
    private func other(of server: RedisServer) throws -> FetchingLevel<String, String> {
        source.set("other")
        source.gate.open()
        return RedisLevel(try TestServer.client(of: server), keyspace: Keyspace(keyspace), codec: .text)
            .fetching(LeaseOptions(duration: .seconds(60))) { [source] _ in try await source.fetch() }
    }

    /// Begins a get and returns when it waits for the holder.
    private func wait(
        in other: FetchingLevel<String, String>
    ) async throws -> Task<(value: String?, trace: ReadTrace), any Error> {
        let call = Task { try await other.getWithTrace("k") }
        while other.level.statistics.waits == 0 { try await nextTurn() }
        return call
    }

    /// Who waited takes over by the lease, fetches once and stores.
    private func expectTakeover(
        by other: FetchingLevel<String, String>,
        _ call: Task<(value: String?, trace: ReadTrace), any Error>
    ) async throws {
        let (value, trace) = try await call.value
        #expect(value == "other")
        #expect(trace.hasWaited)
        #expect(source.calls == 1)
        #expect(other.level.statistics.stores == 1)
        #expect(other.level.statistics.uncoordinatedFetches == 0)
        #expect(try await other.level.redis.exists(names.lease) == 0)
    }

    @Test("killed while it fetches: another takes over when the lease has run out")
    func killedInTheFetch() async throws {
        try await RedisServer.withServer { server in
            // Long enough for a busy machine to renew it in time.
            let holder = try await Holder(server.url, keyspace, lease: 8_000)
            let other = try other(of: server)
            try await holder.beginFetch()
            let call = try await wait(in: other)
            try await holder.process.kill()
            try await expectTakeover(by: other, call)
        }
    }

    @Test("killed in renewal: what it had renewed runs out, then another takes over")
    func killedInRenewal() async throws {
        try await RedisServer.withServer { server in
            // Long enough for a busy machine to renew it in time.
            let holder = try await Holder(server.url, keyspace, lease: 9_000)
            let other = try other(of: server)
            try await holder.beginFetch()
            // Longer than a lease that is renewed once.
            let end = try await other.level.redis.time() + .milliseconds(12_600)
            while try await other.level.redis.time() < end {
                #expect(try await other.level.redis.exists(names.lease) == 1)
            }
            let call = try await wait(in: other)
            try await holder.process.kill()
            try await expectTakeover(by: other, call)
        }
    }

    @Test("killed before its store has reached the server: another takes over, and what was on its way is refused")
    func killedBeforeTheStore() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            // Long enough for a busy machine to get to the store: no instance stores after the end of its lease.
            let holder = try await Holder(proxy.url, keyspace, lease: 10_000)
            let other = try other(of: server)
            try await holder.beginFetch()
            let call = try await wait(in: other)
            proxy.set(.delayed(by: .seconds(1_000)), .toServer)
            let (sent, lease) = (proxy.snapshot.counts.toServer.received, try await other.level.redis.get(names.lease))
            try await holder.order("answer \(String(repeating: "old", count: 5_000))")
            // Renewals are short.
            try await proxy.wait { $0.counts.toServer.received > sent + 10_000 }
            #expect(try await other.level.redis.get(names.lease) == lease)
            try await holder.process.kill()
            try await expectTakeover(by: other, call)
            // What the network still holds arrives late.
            try proxy.heal()
            try await proxy.wait { $0.connections.isEmpty }
            #expect(try await other.get("k") == "other")
            await proxy.stop()
        }
    }

    @Test("killed after its store, before it heard of it: the others have the value, and no instance fetches again")
    func killedAfterTheStore() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let holder = try await Holder(proxy.url, keyspace, lease: 10_000)
            let other = try other(of: server)
            try await holder.beginFetch()
            let call = try await wait(in: other)
            proxy.stall(.toClient)
            try await holder.order("answer held")
            let (value, trace) = try await call.value
            try await holder.process.kill()
            #expect(value == "held")
            #expect(trace.hasWaited)
            #expect(try await other.get("k") == "held")
            #expect(source.calls == 0)
            #expect(try await other.level.redis.exists(names.lease) == 0)
            await proxy.stop()
        }
    }

    @Test(
        "stopped for longer than its lease, then continued: its late value is returned to its caller and not kept"
    )
    func stoppedPastTheLease() async throws {
        try await RedisServer.withServer { server in
            let holder = try await Holder(server.url, keyspace, lease: 8_000)
            let other = try other(of: server)
            try await holder.beginFetch()
            let call = try await wait(in: other)
            try await holder.process.pause()
            try await expectTakeover(by: other, call)
            try holder.process.resume()
            try await holder.order("answer old")
            try await holder.says("got old")
            #expect(try await other.get("k") == "other")
            try await holder.order("get")
            try await holder.says("got other")
            try await holder.process.kill()
        }
    }
}
