#if TLS
import Foundation
import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("TLS while things fail", .leavesNothing, .timeLimit(.minutes(5)))
struct TLSFaultTests {
    @Test("a handshake that is cut anywhere is one failed attempt, and the next one stands")
    func cutHandshakes() async throws {
        try await TLSFixture.with { fixture in
            let proxy = try await FaultProxy.start(to: try #require(fixture.server.tlsEndpoint))
            for direction in [FaultProxy.Directions.toClient, .toServer] {
                for place in [0, 1, 4, 5, 6, 40, 120, 300] {
                    proxy.edit(.close(after: place), direction, of: .later)
                    let redis = try fixture.client(port: proxy.port) { $0.tls?.requiresTLS13 = true }
                    let error = await #expect(throws: RedisError.self) { try await redis.ping() }
                    #expect(
                        error?.code == .tls || error?.code == .connectionLost || error?.code == .connectionFailed,
                        "\(place) \(String(describing: error))"
                    )
                    try proxy.heal()
                    while (try? await redis.ping()) == nil { try await nextTurn() }
                    await redis.shutDown()
                }
            }
            await proxy.stop()
        }
    }

    @Test("a byte that is changed or lost within a record ends the connection, and no wrong value comes of it")
    func brokenRecords() async throws {
        try await TLSFixture.with { fixture in
            let proxy = try await FaultProxy.start(to: try #require(fixture.server.tlsEndpoint), seed: 3)
            let redis = try fixture.client(port: proxy.port)
            let value = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            try await redis.set("a", value)
            let edits: [WireEdit] = [
                .corrupt(byteAt: 0), .corrupt(byteAt: 3), .corrupt(byteAt: 9_000), .corrupt(byteAt: 100_000),
                .swallow(1, after: 50), .swallow(16_000, after: 20_000), .duplicate(100, after: 1_000),
                .close(after: 17), .close(after: 100_000), .reset(after: 40_000), .insert([1, 2, 3], after: 70_000),
            ]
            for edit in edits {
                proxy.edit(edit, .toClient)
                // Sent again by itself after a lost connection, unless too many were lost in a row.
                var read: [UInt8]??
                while read == nil {
                    do { read = .some(try await redis.get("a")) } catch let error as RedisError {
                        #expect(error.code == .connectionLost, "\(edit) \(error)")
                        try await nextTurn()
                    }
                }
                #expect(read == .some(value), "\(edit)")
            }
            #expect(proxy.snapshot.counts.accepted == edits.count + 1)
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a caller that is cancelled while the handshake hangs leaves at once, and the client ends")
    func cancelled() async throws {
        try await TLSFixture.with { fixture in
            let proxy = try await FaultProxy.start(to: try #require(fixture.server.tlsEndpoint))
            proxy.set(
                {
                    var conditions = LinkConditions()
                    conditions.isStalled = true
                    return conditions
                }()
            )
            let redis = try fixture.client(port: proxy.port)
            let call = Task { try await redis.ping() }
            try await proxy.wait { $0.counts.accepted == 1 }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            await redis.shutDown()
            try proxy.heal()
            try await proxy.wait { $0.connections.isEmpty }
            await proxy.stop()
        }
    }

    @Test("a handshake that hangs ends with the connect timeout, and says so")
    func hanging() async throws {
        try await TLSFixture.with { fixture in
            let proxy = try await FaultProxy.start(to: try #require(fixture.server.tlsEndpoint))
            proxy.edit(.stall(after: 30), .toClient, of: .later)
            var error: RedisError?
            // With more time where this process stood still before it had heard of the server.
            for limit in [3, 6, 12] where error?.tlsReason != .handshake {
                error = try await fixture.refusal(port: proxy.port) { $0.connectTimeout = .seconds(limit) }
            }
            #expect(error?.code == .tls && error?.tlsReason == .handshake, "\(String(describing: error))")
            #expect(error?.message.contains("connect timeout") == true)
            await proxy.stop()
        }
    }

    @Test("authorities and certificates are replaced while the client runs; files that cannot be used change nothing")
    func rotation() async throws {
        try await TLSFixture.with(clientCertificates: .required) { fixture in
            let server = fixture.server
            let proxy = try await FaultProxy.start(to: try #require(server.tlsEndpoint))
            let folder = try #require(server.folder)
            let (ca, certificate, key) = ("\(folder)/own-ca.pem", "\(folder)/own.pem", "\(folder)/own.key")
            let first = try await fixture.authority.issue(for: ["client"])
            for (from, to) in [(fixture.authority.certificate, ca), (first.certificate, certificate), (first.key, key)]
            {
                try FileManager.default.copyItem(atPath: from, toPath: to)
            }
            let recorder = LogRecorder()
            let redis = try fixture.client(port: proxy.port, recorder: recorder) {
                $0.tls?.authorities = ca
                $0.tls?.certificate = certificate
                $0.tls?.key = key
            }
            try await redis.ping()

            // Half of a rotation: the key is not that of the certificate.
            let foreign = try await TestAuthority.make(name: "another")
            let second = try await foreign.issue(for: ["client"])
            try replace(certificate, by: second.certificate)
            proxy.resetConnections()
            while (try? await redis.ping()) == nil { try await nextTurn() }
            #expect(recorder.lines.contains { $0.level == .warning && $0.text.contains("stay in force") })

            // The whole of it, to one that the server does not accept.
            try replace(key, by: second.key)
            proxy.resetConnections()
            await waitFor(redis, .certificateRefused)

            // The server follows, and is signed by the other authority as well, which is not known here.
            let fresh = try await foreign.issue()
            try await server.command(
                "CONFIG",
                "SET",
                "tls-cert-file",
                fresh.certificate,
                "tls-key-file",
                fresh.key,
                "tls-ca-cert-file",
                foreign.certificate
            )
            await waitFor(redis, .unknownAuthority)

            // Now it is.
            try replace(ca, by: foreign.certificate)
            while (try? await redis.ping()) == nil { try await nextTurn() }

            // No PEM at all.
            try Data("nothing".utf8).write(to: URL(fileURLWithPath: ca))
            proxy.resetConnections()
            while (try? await redis.ping()) == nil { try await nextTurn() }
            await redis.shutDown()
            await proxy.stop()
        }
    }

    private func waitFor(_ redis: RedisClient, _ reason: RedisError.TLSReason) async {
        while true {
            do { try await redis.ping() } catch let error as RedisError where error.tlsReason == reason { return } catch
            {}
            do { try await nextTurn() } catch { return }
        }
    }

    @Test("keys that the server has updated are followed")
    func keyUpdate() async throws {
        let authority = try await TestAuthority.make()
        let certificate = try await authority.issue()
        let reservation = try await RedisServer.start()
        let port = try #require(reservation.port)
        try await reservation.stop()
        let server = try await InstanceProcess.start(
            "openssl",
            arguments: [
                "s_server", "-accept", "\(port)", "-cert", certificate.certificate, "-key", certificate.key, "-crlf",
                "-tls1_3", "-naccept", "1",
            ]
        )
        var configuration = try RedisConfiguration(url: "rediss://localhost:\(port)?ca=\(authority.certificate)")
        configuration.beIn(patience: .seconds(20))
        configuration.clientName = nil
        configuration.keepalive = .seconds(1_000)
        var lines = server.lines.makeAsyncIterator()
        while let line = await lines.next(), !line.hasPrefix("ACCEPT") {}
        let redis = try RedisClient(configuration)
        let first = Task { try await redis.ping() }
        // The handshake: HELLO and PING.
        while let line = await lines.next(), !line.hasPrefix("PING") {}
        try await server.send("-ERR unknown command")
        try await server.send("+PONG")
        while let line = await lines.next(), !line.hasPrefix("PING") {}
        try await server.send("+PONG")
        try await first.value
        // Asks for an answer, too. It is read before what the client sends next, and so is no part of another line.
        try await server.send("K")
        for _ in 0..<2 {
            let next = Task { try await redis.ping() }
            while let line = await lines.next(), !line.hasPrefix("PING") {}
            try await server.send("+PONG")
            try await next.value
        }
        await redis.shutDown()
        try await server.kill()
    }
}
#endif
