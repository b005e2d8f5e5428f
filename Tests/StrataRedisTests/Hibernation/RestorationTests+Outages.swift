import Strata
import StrataDisk
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

/// Redis that is away or fails, and changes meanwhile.
extension RestorationTests {
    @Test("with Redis away nothing is read back and the file stays; when it is back, so is memory")
    func away() async throws {
        try await RedisServer.withServer { server in
            _ = try await hibernated(server)
            try await server.kill()
            let other = try instance(server)
            await #expect(throws: RedisError.self) {
                try await other.cache.restore(from: folder.file, within: .milliseconds(50))
            }
            #expect(other.memory.statistics.entries == 0 && folder.names == ["cache.warm"])
            try await server.restart(keepingData: false)
            // It came back without what it had.
            let report = try await other.restore(from: folder)
            #expect(report.changed == keys.count && report.restored == 0)
        }
    }

    @Test("Redis is not needed to hibernate")
    func hibernatesAlone() async throws {
        try await RedisServer.withServer { server in
            let one = try await hibernated(server)
            try await server.kill()
            let report = try await one.hibernate(to: folder)
            #expect(report.written + report.void == keys.count)
        }
    }

    @Test("a Redis that fails in the middle leaves entries unconfirmed, and a level that is not told of changes does")
    func unconfirmed() async throws {
        try await RedisServer.withServer { server in
            let one = try await hibernated(server)
            let names = keys.map { one.level.names(for: $0) }
            let versions = try await one.redis.get(names.map(\.value))
                .map { bytes in
                    bytes.flatMap { Envelope.version(inStamp: Envelope.stamp(of: $0)) } ?? .none
                }
            let held = zip(keys, versions)
                .map { HeldEntry($0, version: $1, isAbsence: false, tags: ["tag of \($0)"]) }
            let other = try instance(server)
            try await other.listen()
            func outcomes() async throws -> [EntryConfirmation] { try await other.level.confirm(held) }
            #expect(try await outcomes().allSatisfy { if case .holds = $0 { true } else { false } })
            let gate = other.level.shared.gate
            var untrusted: [EntryConfirmation]
            repeat {
                gate.setTrustedUntil(.distantPast)
                untrusted = try await outcomes()
                // An answer on the link may have brought trust back meanwhile.
            } while gate.trustedUntil != .distantPast
            #expect(untrusted.allSatisfy { if case .unknown = $0 { true } else { false } })
            // Another kind of entry, other tags and no stamp are not what Redis holds.
            let odd = [
                HeldEntry("k0", version: versions[0], isAbsence: true, tags: ["tag of k0"]),
                HeldEntry("k0", version: versions[0], isAbsence: false, tags: []),
                HeldEntry("k0", version: versions[1], isAbsence: false, tags: ["tag of k0"]),
                HeldEntry("k0", version: .none, isAbsence: false, tags: ["tag of k0"]),
            ]
            try await other.level.listens()
            #expect(try await other.level.confirm(odd).allSatisfy { if case .changed = $0 { true } else { false } })
            try await server.kill()
            await #expect(throws: RedisError.self) { try await outcomes() }
        }
    }

    @Test("a change while Redis is asked voids what it answers, of a key and of a tag")
    func changeMeanwhile() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            // Only its own process tells this level of changes.
            let level = RedisLevel<String, String>(
                try TestServer.client(of: proxy.endpoint.url),
                keyspace: keyspace,
                codec: .text,
                coherence: .none
            )
            for key in ["a", "b", "c"] { try await level.set("v", for: key, tags: ["red-\(key)"]) }
            let stamps = try await level.redis.get(["a", "b", "c"].map { level.names(for: $0).value })
            let held = zip(["a", "b", "c"], stamps)
                .map { key, bytes in
                    let version = bytes.flatMap { Envelope.version(inStamp: Envelope.stamp(of: $0)) } ?? .none
                    return HeldEntry(key, version: version, isAbsence: false, tags: ["red-\(key)"])
                }
            proxy.stall(.toClient)
            let before = proxy.snapshot.counts.toServer.delivered
            async let confirmed = level.confirm(held)
            try await proxy.wait { $0.counts.toServer.delivered > before + 100 }
            let gate = level.shared.gate
            gate.void(level.fingerprint(of: "a"))
            gate.void(tags: ["red-b"])
            proxy.resume()
            let outlines = try await confirmed
            let live = outlines.map { outcome in
                guard case .holds(let outline) = outcome else { return false }
                return gate.isLive(outline.ticket) && outline.seal?.isLive != false
            }
            #expect(live == [false, false, true])
            await proxy.stop()
        }
    }

    @Test("a failed removal that waits to be repeated voids what is read back")
    func pending() async throws {
        try await RedisServer.withServer { server in
            _ = try await hibernated(server)
            let other = try instance(server)
            try await other.listen()
            // As after removals that Redis has failed, and whose writes may still arrive.
            let targets: [PendingInvalidations.Target] = [
                .key(other.level.names(for: "k1"), keyspace), .tag(TagName("tag of k2"), keyspace),
            ]
            for target in targets {
                let later = MonotonicInstant.now.advanced(by: .seconds(600))
                other.redis.outage.replay.record(target, .removal, for: .seconds(600), notBefore: later, other.redis)
            }
            let report = try await other.restore(from: folder)
            #expect(other.remembers("k1") == nil && other.remembers("k2") == nil)
            #expect(report.restored == 8 && report.invalidated == 2)
            await other.redis.shutDown(within: .zero)
        }
    }
}
