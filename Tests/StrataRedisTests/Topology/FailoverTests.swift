import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Real failovers: the primary dies, stands still, or is replaced on purpose.
@Suite("A failover", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct FailoverTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// A set whose primary may stand still for a moment, on a busy machine, without being replaced.
    private func withSet(_ body: (RedisReplication) async throws -> Void) async throws {
        try await RedisReplication.withSet({ $0.downAfter = .seconds(5) }, body)
    }

    /// Two instances that hear each other at the primary of a set.
    private func pair(_ set: RedisReplication) async throws -> (one: Instance, other: Instance) {
        let (one, other) = try (set.instance(keyspace), set.instance(keyspace))
        for instance in [one, other] { try await instance.listen() }
        try await other.cache.set("before", for: "k")
        await one.hears("k")
        #expect(try await one.cache.get("k") == "before")
        return (one, other)
    }

    /// Values are written and read at the new primary, and each instance hears of what the other changes there.
    private func expectMoved(_ one: Instance, _ other: Instance, to promoted: RedisServer) async throws {
        // One that is replaced on purpose takes writes until it is told that it is a replica, and loses them.
        for instance in [one, other] {
            while try await port(of: instance) != promoted.port.map({ "\($0)" }) { try await nextTurn() }
        }
        while (try? await other.cache.set("after", for: "moved")) == nil { try await nextTurn() }
        while (try? await one.cache.getWithTrace("moved")) == nil { try await nextTurn() }
        // A set that has failed is repeated as a removal, and may have taken away what was set after it.
        while other.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
        try await other.cache.set("after", for: "moved")
        #expect(try await one.cache.get("moved") == "after")
        for instance in [one, other] { while !instance.level.shared.tags.isKnown { try await instance.redis.ping() } }
        // Memory of one is voided by a change of the other.
        #expect(try await one.cache.get("moved") == "after")
        try await other.cache.set("changed", for: "moved")
        while try await one.cache.get("moved") != "changed" { try await nextTurn() }
        try await one.cache.invalidate(tag: "none")
    }

    /// The port of the server that an instance talks to; `nil` while there is none.
    private func port(of instance: Instance) async throws -> String? {
        try Task.checkCancellation()
        guard case .array(let parts)? = try? await instance.redis.send("CONFIG", "GET", "port") else { return nil }
        return parts.last?.string
    }

    @Test("the primary dies: callers of caches get values throughout, and all goes on at the promoted one")
    func killed() async throws {
        try await withSet { set in
            let (one, other) = try await pair(set)
            let cache = one.level.fetching { "source \($0)" }
            #expect(try await cache.get("a") == "source a")
            try await set.primary.kill()
            let isOver = Locked(false)
            async let reads: Int = {
                var count = 0
                while !isOver.withLock({ $0 }) {
                    #expect(try await cache.get("\(count % 100)") == "source \(count % 100)")
                    count += 1
                    try await nextTurn()
                }
                return count
            }()
            let promoted = try await set.waitForFailover(from: set.primary, within: .seconds(90))
            try await expectMoved(one, other, to: promoted)
            isOver.withLock { $0 = true }
            #expect(try await reads > 0)
        }
    }

    @Test("memory is voided when the link moves: what the new primary has lost is not served on")
    func voided() async throws {
        try await withSet { set in
            let (one, other) = try await pair(set)
            #expect(one.remembers("k") == "before")
            try await other.cache.set("kept", for: "kept")
            await one.hears("kept")
            #expect(try await one.cache.get("kept") == "kept")
            let listened = one.changes.count { $0 == .listening }
            // It stands still, and never says that its connections are of no use.
            try await set.primary.pause()
            let promoted = try await set.waitForFailover(from: set.primary, within: .seconds(90))
            // Either no link stands there yet, or it will tell.
            try await promoted.command(bytes: [Array("DEL".utf8), one.level.names(for: "k").value.bytes])
            await one.wait { $0.count { $0 == .listening } > listened }
            try await one.level.listens()
            #expect(one.remembers("k") == nil)
            // No Sentinel has told of this one, no matter what the link has heard by then.
            #expect(one.remembers("kept") == nil)
            try await expectMoved(one, other, to: promoted)
            try await set.primary.resume()
        }
    }

    @Test("a primary that stood still and comes back gets no writes, though it still calls itself one")
    func comesBack() async throws {
        try await withSet { set in
            let (one, other) = try await pair(set)
            try await set.primary.pause()
            let promoted = try await set.waitForFailover(from: set.primary, within: .seconds(90))
            try await expectMoved(one, other, to: promoted)
            try await set.primary.resume()
            // Until it is told that it is a replica; each connection is made anew meanwhile.
            var isReplica = false
            var number = 0
            while !isReplica || number < 50 {
                number += 1
                if number <= 50, number.isMultiple(of: 10) { try await promoted.killOwnClients() }
                _ = try? await other.redis.set(RedisKey("switched-\(number)"), [1])
                _ = try? await one.redis.get(RedisKey("switched-\(number)"))
                // Who makes it a replica ends its connections.
                isReplica = (try? await set.primary.command("ROLE"))?.elements?.first?.text == "slave"
                try await nextTurn()
            }
            #expect(try await !set.primary.wasAskedByClient(about: "switched-"))
            #expect(try await promoted.wasAskedByClient(about: "switched-"))
        }
    }

    @Test("a call that waits at a primary that stands still goes to the promoted one once that is known")
    func standsStill() async throws {
        try await withSet { set in
            // Nothing else would end the connection within the test.
            let instance = try set.instance(keyspace) {
                $0.commandTimeout = .seconds(3_600)
                $0.healthWindow = .seconds(3_600)
                $0.keepalive = .seconds(3_600)
            }
            try await instance.redis.ping()
            try await set.primary.pause()
            let call = Task { try await instance.redis.get("k") }
            _ = try await set.waitForFailover(from: set.primary, within: .seconds(90))
            #expect(try await call.value == nil)
            try await set.primary.resume()
        }
    }

    @Test("a failover on purpose, there and back")
    func onPurpose() async throws {
        try await withSet { set in
            let (one, other) = try await pair(set)
            var primary = set.primary
            for _ in 0..<2 {
                var promoted: RedisServer?
                // The Sentinels give up one for which they find no replica fit. One that took long is not undone.
                while promoted == nil {
                    if (try? await set.currentPrimary()) === primary {
                        _ = try? await set.sentinels[0].command("SENTINEL", "FAILOVER", set.name)
                    }
                    promoted = try? await set.waitForFailover(from: primary, within: .seconds(5))
                    try Task.checkCancellation()
                }
                primary = try #require(promoted)
                try await expectMoved(one, other, to: primary)
            }
        }
    }

    #if TLS
    @Test("by TLS: Sentinels, servers and links, before and after")
    func encrypted() async throws {
        let authority = try await TestAuthority.make()
        let tls = RedisServer.TLS(try await authority.issue(), authorities: authority.certificate)
        try await RedisReplication.withSet {
            $0.downAfter = .seconds(5)
            $0.server.tls = tls
        } _: { set in
            let instances = try (0..<2)
                .map { _ in
                    try set.instance(keyspace) { $0.tls?.authorities = authority.certificate }
                }
            for instance in instances { try await instance.listen() }
            try await set.primary.kill()
            let promoted = try await set.waitForFailover(from: set.primary, within: .seconds(90))
            try await expectMoved(instances[0], instances[1], to: promoted)
            // Not one connection of ours is in plain text.
            let clients = try await promoted.command("CLIENT", "LIST").text.split(whereSeparator: \.isNewline)
            let places = clients.filter { $0.contains(" name=strata@") }
                .map { $0.split(separator: " ").first { $0.hasPrefix("laddr=") }.map(String.init) }
            #expect(places.count >= 4)
            #expect(Set(places) == ["laddr=127.0.0.1:\(promoted.tlsPort ?? 0)"])
        }
    }
    #endif

    @Test("a Sentinel dies with the primary, the one that tells us of failovers: another one does")
    func sentinelDies() async throws {
        try await withSet { set in
            let (one, other) = try await pair(set)
            // Whoever listens to it has to go to another one.
            var listened: RedisServer?
            while listened == nil {
                for sentinel in set.sentinels {
                    if try await sentinel.command("CLIENT", "LIST").text.contains(" sub=2 ") { listened = sentinel }
                }
            }
            try await listened?.kill()
            try await set.primary.kill()
            let promoted = try await set.waitForFailover(from: set.primary, within: .seconds(90))
            try await expectMoved(one, other, to: promoted)
        }
    }
}
