import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What happens to the process of a service", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct ProcessFaultTests {
    private let keyspace = TestServer.uniqueName()

    private func exists(_ key: String, _ server: RedisServer) async throws -> Bool {
        let name = Keyspace(keyspace).names(for: key.keyBytes).value
        return try await server.command(bytes: [Array("EXISTS".utf8), name.bytes]).integer == 1
    }

    /// Whether a process with 64 descriptors at most has room for a connection, or one that is going to end.
    private func hasRoom(_ process: Int32) -> Bool {
        let folder = "/proc/\(process)/fd"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return false }
        let connections = names.count { name in
            // Those of its input and output are sockets, too.
            guard let number = Int(name), number > 2 else { return false }
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target?.hasPrefix("socket:") ?? true
        }
        return names.count < 64 || connections > 0
    }

    @Test("no descriptor is left: reads are answered by the source, nothing turns in circles, and Redis is used again")
    func descriptors() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let member = try await Holder(
                proxy.url,
                keyspace,
                lease: 1_000,
                isPatient: false,
                shell: #"ulimit -n 64; exec "$@""#
            )
            // What its connections had, it must not get again; an attempt may be under way each time.
            try proxy.admit(.refuse)
            proxy.resetConnections()
            var rounds = 0
            repeat {
                try await member.reads("before \(rounds)", orHas: true)
                try await member.order("exhaust")
                try await member.says("done")
                rounds += 1
            } while rounds < 20 || rounds < 1_000 && hasRoom(member.process.pid)
            try proxy.admit(.accept)
            let accepted = proxy.snapshot.counts.accepted
            for round in 0..<20 { try await member.reads("\(round)", orHas: true) }
            try await member.order("processor")
            let (began, before) = (MonotonicInstant.now, Int(try await member.tells("processor")) ?? 0)
            // A loop that does not wait would fill this time.
            while began.duration(to: .now) < .seconds(1) { _ = try await server.command("PING") }
            try await member.order("processor")
            let used = (Int(try await member.tells("processor")) ?? .max) - before
            let passed = began.duration(to: .now).milliseconds
            #expect(used < passed / 2)
            #expect(proxy.snapshot.counts.accepted == accepted)
            try await member.order("release")
            try await member.says("done")
            repeat {
                // Memory may hold what was read meanwhile.
                try await member.order("remove")
                _ = try await member.next()
                try await member.reads("back", orHas: true)
            } while try await !exists("k", server)
            FaultFigures.tell(44, ["reads": 20, "errors": 0, "processor ms": used, "of ms": passed])
            try await member.process.kill()
            await proxy.stop()
        }
    }

    @Test("every thread of the pool is blocked by the service: the thread of the connection goes on")
    func starvation() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let member = try await Holder(proxy.url, keyspace, lease: 1_000)
            let path = NSTemporaryDirectory() + "/strata-go-on-\(UUID())"
            defer { try? FileManager.default.removeItem(atPath: path) }
            try await member.order("block \(path)")
            try await member.says("blocking")
            // The link is pinged once a second, and trusted for as long as it answers: no other call is sent now.
            for _ in 0..<2 {
                let before = proxy.snapshot.counts
                try await proxy.wait {
                    $0.counts.toServer.received > before.toServer.received
                        && $0.counts.toClient.delivered > before.toClient.delivered
                }
            }
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            try await member.says("unblocked")
            #expect(proxy.snapshot.counts.closed == 0)
            try await member.reads("v")
            FaultFigures.tell(45, ["pings while blocked": 2, "connections lost": proxy.snapshot.counts.closed])
            try await member.process.kill()
            await proxy.stop()
        }
    }

    @Test("a program that the service starts inherits no descriptor of a client, a link or memory")
    func inherited() async throws {
        try await RedisServer.withServer { server in
            let member = try await Holder(server.url, keyspace, lease: 1_000)
            try await member.order("inheritable")
            let counts = try await member.tells("inheritable")
            #expect(counts.hasPrefix("0 of "))
            #expect(counts != "0 of 0")
            FaultFigures.tell(60, ["inheritable descriptors": counts])
            try await member.process.kill()
        }
    }

    @Test("SIGTERM amid a fetch, without a drain: it is gone, and another takes over when the lease has run out")
    func terminated() async throws {
        try await RedisServer.withServer { server in
            let member = try await Holder(server.url, keyspace, lease: 500)
            try await member.beginFetch()
            let began = MonotonicInstant.now
            try await member.process.stop(grace: .seconds(10))
            let ended = began.duration(to: .now)
            let source = CountingSource()
            source.gate.open()
            let other = try await FaultInstance(server.url, Keyspace(keyspace), source)
            #expect(try await other.cache.get("k") == "value")
            let lease = Keyspace(keyspace).names(for: "k".keyBytes).lease
            #expect(try await other.redis.exists(lease) == 0)
            FaultFigures.tell(61, ["ended after ms": ended.milliseconds, "leases left": 0])
            await other.redis.shutDown()
        }
    }
}
