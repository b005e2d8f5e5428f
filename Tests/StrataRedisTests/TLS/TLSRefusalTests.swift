#if TLS
import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("TLS that is refused", .timeLimit(.minutes(5)))
struct TLSRefusalTests {
    struct Wrong: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var reason: RedisError.TLSReason
        var words: String
        var certificate: @Sendable (TestAuthority) async throws -> TestCertificate
    }

    static let wrong = [
        Wrong(testDescription: "expired", reason: .expired, words: "has expired") {
            try await $0.issue(validity: .expired)
        },
        Wrong(testDescription: "not yet valid", reason: .notYetValid, words: "not valid yet") {
            try await $0.issue(validity: .later)
        },
        Wrong(testDescription: "another host", reason: .wrongHost, words: "is not for localhost") {
            try await $0.issue(for: ["example.com", "127.0.0.1"])
        },
        Wrong(testDescription: "part of a name", reason: .wrongHost, words: "is not for localhost") {
            try await $0.issue(for: ["local*", "*host", "localhost.example.com"])
        },
        Wrong(testDescription: "another authority", reason: .unknownAuthority, words: "not trusted here") { _ in
            try await TestAuthority.make(name: "another").issue()
        },
        Wrong(
            testDescription: "another authority of the same name",
            reason: .unknownAuthority,
            words: "not trusted here"
        ) {
            _ in try await TestAuthority.make().issue()
        },
        Wrong(testDescription: "self-signed", reason: .unknownAuthority, words: "is self-signed") {
            try await $0.selfSigned()
        },
    ]

    @Test("a certificate that proves nothing is refused, with the reason, and no password is sent", arguments: wrong)
    func certificates(wrong: Wrong) async throws {
        try await TLSFixture.with(certificate: wrong.certificate) { fixture in
            let error = try await fixture.refusal { $0.password = Secret("hunter2") }
            #expect(error?.code == .tls && error?.tlsReason == wrong.reason, "\(String(describing: error))")
            #expect(error?.message.contains(wrong.words) == true, "\(String(describing: error))")
            #expect(error?.endpoint == "localhost:\(fixture.server.tlsPort ?? 0)")
            #expect(error?.effect == .notApplied)
            let stats = try await fixture.server.command("INFO", "commandstats").text
            #expect(!stats.contains("cmdstat_auth"), "\(stats)")

            // Whoever says so at length gets through, and is warned.
            let recorder = LogRecorder()
            let redis = try fixture.client(recorder: recorder) { $0.tls?.dangerouslyAcceptsAnyCertificate = true }
            try await redis.ping()
            #expect(recorder.lines.contains { $0.level == .warning && $0.text.contains("not verified") })
            await redis.shutDown()
        }
    }

    @Test("an address has to be among the certificate's addresses, and a name given for it counts instead")
    func address() async throws {
        try await TLSFixture.with(certificate: { try await $0.issue(for: ["localhost", "192.0.2.1"]) }) { fixture in
            let port = try #require(fixture.server.tlsPort)
            let error = try await fixture.refusal { $0.endpoint = .tcp(host: "127.0.0.1", port: port) }
            #expect(error?.tlsReason == .wrongHost)
            let named = try await fixture.refusal {
                $0.endpoint = .tcp(host: "127.0.0.1", port: port)
                $0.tls?.serverName = "localhost"
            }
            #expect(named == nil)
        }
    }

    @Test("without a file of authorities those of the system count")
    func systemAuthorities() async throws {
        try await TLSFixture.with { fixture in
            let error = try await fixture.refusal { $0.tls?.authorities = nil }
            #expect(error?.tlsReason == .unknownAuthority)
        }
    }

    @Test("a server with nothing newer than TLS 1.1, and one with 1.2 where 1.3 is wanted")
    func tooOld() async throws {
        let weak: RedisServer.Directive = "tls-ciphers DEFAULT@SECLEVEL=0"
        for (versions, newest) in [("TLSv1.1", false), ("TLSv1.2", true)] {
            try await TLSFixture.with(versions: versions, directives: [weak]) { fixture in
                let error = try await fixture.refusal { $0.tls?.requiresTLS13 = newest }
                #expect(error?.code == .tls && error?.tlsReason == .versionTooOld, "\(String(describing: error))")
            }
        }
    }

    @Test("a server that answers in plain text, and one that does not answer what it takes for part of a command")
    func plainServer() async throws {
        let talkative = try await ScriptedServer.start(script: [.receive(1), .send(text: "-ERR no\r\n"), .hang])
        let url = talkative.url.replacing("redis://", with: "rediss://")
        var configuration = try RedisConfiguration(url: url)
        configuration.beIn(patience: .seconds(20))
        await expect(.serverSpeaksPlain, saying: "plain text", of: configuration)
        await talkative.stop()

        try await RedisServer.withServer { server in
            var configuration = try RedisConfiguration(url: server.url.replacing("redis://", with: "rediss://"))
            configuration.connectTimeout = .seconds(1)
            configuration.commandTimeout = .seconds(20)
            await expect(.serverSpeaksPlain, saying: "does it speak plain text", of: configuration)
        }
    }

    @Test("a server that has spoken TLS and is silent now is not taken for one that speaks plain text")
    func silence() async throws {
        try await TLSFixture.with { fixture in
            var configuration = try fixture.configuration()
            configuration.connectTimeout = .milliseconds(200)
            configuration.healthWindow = .milliseconds(200)
            configuration.commandTimeout = .seconds(20)
            configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(10)
            configuration.connections = 1
            let redis = try RedisClient(configuration)
            while (try? await redis.ping()) == nil { try await nextTurn() }
            try await fixture.server.pause()
            var reason: RedisError.TLSReason?
            while reason == nil {
                do { try await redis.ping() } catch let error as RedisError { reason = error.tlsReason }
            }
            try await fixture.server.resume()
            #expect(reason == .handshake)
            while (try? await redis.ping()) == nil { try await nextTurn() }
            await redis.shutDown()
        }
    }

    @Test("plain text to a server that speaks TLS")
    func plainClient() async throws {
        try await TLSFixture.with { fixture in
            var configuration = try RedisConfiguration(url: "redis://localhost:\(fixture.server.tlsPort ?? 0)")
            configuration.beIn(patience: .seconds(20))
            let error = await #expect(throws: RedisError.self) {
                let redis = try RedisClient(configuration)
                try await redis.ping()
            }
            #expect(error?.message.contains("does it speak TLS at this port") == true, "\(String(describing: error))")
        }
    }

    @Test("plain text to a server that answers it with an alert of TLS")
    func alert() async throws {
        let server = try await ScriptedServer.start(script: [.receive(1), .send([0x15, 3, 3, 0, 2, 2, 70]), .hang])
        var configuration = try RedisConfiguration(url: server.url)
        configuration.beIn(patience: .seconds(20))
        await expect(.serverSpeaksTLS, saying: "use rediss://", of: configuration)
        await server.stop()
    }

    private func expect(
        _ reason: RedisError.TLSReason,
        saying words: String,
        of configuration: RedisConfiguration,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        var error: RedisError?
        // With more time where this process stood still before the handshake had begun.
        for factor in [1, 4, 16] where error?.code != .tls {
            error = await #expect(throws: RedisError.self, sourceLocation: sourceLocation) {
                var configuration = configuration
                configuration.connectTimeout = configuration.connectTimeout * factor
                let redis = try RedisClient(configuration)
                try await redis.ping()
            }
        }
        #expect(
            error?.code == .tls && error?.tlsReason == reason,
            "\(String(describing: error))",
            sourceLocation: sourceLocation
        )
        #expect(error?.message.contains(words) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
    }

    @Test("a server that wants a certificate: none, a wrong one, the right one", arguments: ["TLSv1.2", "TLSv1.3"])
    func clientCertificate(version: String) async throws {
        try await TLSFixture.with(clientCertificates: .required, versions: version) { fixture in
            let none = try await fixture.refusal()
            #expect(none?.tlsReason == .certificateRequired, "\(String(describing: none))")
            let foreign = try await TestAuthority.make(name: "another").issue()
            let refused = try await fixture.refusal {
                $0.tls?.certificate = foreign.certificate
                $0.tls?.key = foreign.key
            }
            #expect(refused?.tlsReason == .certificateRefused, "\(String(describing: refused))")
            let own = try await fixture.authority.issue(for: ["a client"])
            let accepted = try await fixture.refusal {
                $0.tls?.certificate = own.certificate
                $0.tls?.key = own.key
            }
            #expect(accepted == nil)
        }
    }
}
#endif
