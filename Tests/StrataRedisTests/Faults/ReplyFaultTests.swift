import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Replies that are lost, come twice, or in another order", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct ReplyFaultTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    enum Fault: CaseIterable {
        case swallow
        case duplicate
        case swap

        var edit: WireEdit {
            switch self {
            case .swallow: .swallowReply()
            case .duplicate: .duplicateReply()
            case .swap: .swapReplies()
            }
        }

        /// Its number in the catalogue, where each of these is one desynchronisation of the same kind.
        var number: Int { 39 }
    }

    @Test("a cache: no caller ever gets another key's value, and the connection is given up", arguments: Fault.allCases)
    func cache(fault: Fault) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let service = try FaultService(proxy.url, keyspace)
            for key in 0..<50 { _ = try await service.level.get("key \(key)") }
            var given = 0
            let tally = try await service.traffic { traffic in
                for _ in 0..<20 {
                    let accepted = proxy.snapshot.counts.accepted
                    proxy.edit(fault.edit, .toClient)
                    // A lost reply and one too many shift all later replies until that is detected; two that have
                    // changed places may be detected by the envelope alone.
                    if fault == .swap {
                        try await traffic.goesOn(for: 50)
                    } else {
                        try await proxy.wait { $0.counts.accepted > accepted }
                        given += 1
                    }
                    try await service.recovers()
                }
            }
            if fault == .swap { #expect(service.counters.unusable > 0, "no reply has changed its place") }
            FaultFigures.tell(
                fault.number,
                [
                    "\(fault)": 20, "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "connections given up": given, "told by the envelope": service.counters.unusable,
                ]
            )
            await service.redis.shutDown()
            await proxy.stop()
        }
    }

    /// A command of one's own has no envelope: what bounds the harm is how long a wrong place goes unseen.
    @Test(
        "commands of one's own: the connection is given up within the interval",
        arguments: [Fault.swallow, .duplicate]
    )
    func commands(fault: Fault) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            // Nothing gives up for slowness, and a handshake whose reply is lost does not take long.
            var configuration = try RedisConfiguration.patient(proxy.url)
            configuration.connectTimeout = .milliseconds(500)
            let redis = try RedisClient(configuration)
            while (try? await redis.ping()) == nil { try await nextTurn() }
            for key in 0..<50 {
                try await redis.set(RedisKey("key \(key)"), Array(FaultTraffic.value(of: "key \(key)").utf8))
            }
            var longest = Duration.zero
            let tally = try await FaultTraffic()
                .run(
                    { key in try await redis.get(RedisKey(key)).map { String(decoding: $0, as: UTF8.self) } },
                    during: { traffic in
                        for _ in 0..<10 {
                            // Connections that are lost early in a row refuse calls; then there is no reply to lose.
                            while (try? await redis.ping()) == nil { try await nextTurn() }
                            let accepted = proxy.snapshot.counts.accepted
                            proxy.edit(fault.edit, .toClient)
                            let began = MonotonicInstant.now
                            try await proxy.wait { $0.counts.accepted > accepted }
                            longest = max(longest, began.duration(to: .now))
                            try await traffic.goesOn(for: 50)
                        }
                    }
                )
            while (try? await redis.ping()) == nil { try await nextTurn() }
            // Every read afterwards is right.
            for key in 0..<50 {
                #expect(try await redis.get(RedisKey("key \(key)")) == Array(FaultTraffic.value(of: "key \(key)").utf8))
            }
            FaultFigures.tell(
                fault.number,
                [
                    "\(fault) below commands": 10, "commands": tally.reads, "errors": tally.errors,
                    "another's reply until then": tally.wrong, "found after ms": longest.milliseconds,
                ]
            )
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test(
        "commands on their way are lost, come twice, or in another order: no value is wrong",
        arguments: Fault.allCases
    )
    func commandsOnTheirWay(fault: Fault) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let service = try FaultService(proxy.url, keyspace)
            let tally = try await service.traffic { traffic in
                for _ in 0..<20 {
                    proxy.edit(fault.edit, .toServer)
                    try await traffic.goesOn(for: 50)
                    try await service.recovers()
                }
            }
            let counts = proxy.snapshot.counts.toServer
            #expect(fault != .swallow || counts.swallowed > 0)
            #expect(fault != .duplicate || counts.added > 0)
            FaultFigures.tell(
                fault.number,
                ["\(fault) of commands": 20, "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong]
            )
            await service.redis.shutDown()
            await proxy.stop()
        }
    }
}
