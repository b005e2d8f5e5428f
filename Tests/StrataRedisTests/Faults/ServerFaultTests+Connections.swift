import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// What a server does to its clients' connections.
extension ServerFaultTests {
    @Test("connections are killed again and again: every read is answered, and connections are not made without pause")
    func killedConnections() async throws {
        try await with(.init(), { $0.reconnectDelay = .milliseconds(50) ... .seconds(5) }) { service, server, proxy in
            let before = proxy.snapshot.counts.accepted
            let rounds = 30
            let tally = try await service.traffic { traffic in
                for _ in 0..<rounds {
                    try await server.command("CLIENT", "KILL", "TYPE", "normal")
                    try await traffic.goesOn(for: 50)
                }
                try await service.recovers()
            }
            let connections = proxy.snapshot.counts.accepted - before
            #expect(connections <= 2 * rounds)
            FaultFigures.tell(
                9,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "kills": rounds, "connections opened": connections,
                ]
            )
        }
    }

    @Test("a server that evicts clients: the connection is made anew, and reads are answered")
    func evictedClient() async throws {
        try await with { service, server, _ in
            try await server.command("CONFIG", "SET", "maxmemory-clients", "1mb")
            var back = Duration.zero
            var evicted: Substring?
            let tally = try await service.traffic { _ in
                // A connection that was given up because this process stood still has not sent enough of it.
                repeat {
                    try? await service.level.set(String(repeating: "x", count: 8 << 20), for: "large")
                    back = try await service.recovers()
                    evicted = try await server.command("INFO", "stats").text.split(separator: "\r\n")
                        .first { $0.hasPrefix("evicted_clients:") }
                } while evicted == "evicted_clients:0"
            }
            #expect(evicted != nil && evicted != "evicted_clients:0")
            FaultFigures.tell(
                10,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "back after ms": back.milliseconds,
                ]
            )
        }
    }

    @Test(
        "no room for another client: what stands is used, what is refused is tried again later, and reads are answered"
    )
    func clientLimit() async throws {
        try await with { service, server, proxy in
            let operatorsOwn = try TestServer.client(of: server)
            _ = try await operatorsOwn.send("CONFIG", "SET", "maxclients", "1")
            let before = proxy.snapshot.counts.accepted
            let tally = try await service.traffic { traffic in
                proxy.resetConnections()
                try await traffic.goesOn(for: 1_000)
                _ = try await operatorsOwn.send("CONFIG", "SET", "maxclients", "1000")
                try await service.recovers()
            }
            let refused = try await operatorsOwn.info("stats")["rejected_connections"].flatMap { Int($0) } ?? 0
            await operatorsOwn.shutDown()
            #expect(refused > 0)
            FaultFigures.tell(
                27,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "connections opened": proxy.snapshot.counts.accepted - before,
                ]
            )
        }
    }

    @Test("idle clients are closed by the server: the first call afterwards is like any other")
    func idle() async throws {
        try await with(
            .init(directives: ["timeout 1"]),
            { $0.beIn(patience: .seconds(20)) }
        ) { service, server, proxy in
            try await service.redis.set("k", Array("v".utf8))
            var errors = 0
            for _ in 0..<2 {
                let closed = proxy.snapshot.counts.closed
                try await proxy.wait { $0.counts.closed > closed }
                do { #expect(try await service.redis.get("k") == Array("v".utf8)) } catch { errors += 1 }
            }
            #expect(errors == 0)
            FaultFigures.tell(28, ["errors": errors])
        }
    }
}
