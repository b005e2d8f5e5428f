import Logging
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Options of TLS")
struct TLSOptionsTests {
    @Test("what a rediss:// URL says")
    func url() throws {
        let plain = try RedisConfiguration(url: "rediss://u:p@h:1/2")
        #expect(plain.tls == TLSOptions() && plain.endpoint == .tcp(host: "h", port: 1) && plain.database == 2)
        let all = try RedisConfiguration(
            url: "RedisS://h?ca=/a%20b&cert=/c&db=3&key=/k&server-name=n.example&tls13=true"
                + "&dangerously-accept-any-certificate=true"
        )
        var options = TLSOptions()
        options.authorities = "/a b"
        (options.certificate, options.key) = ("/c", "/k")
        options.serverName = "n.example"
        options.requiresTLS13 = true
        options.dangerouslyAcceptsAnyCertificate = true
        #expect(all.tls == options && all.database == 3)
        #expect(try RedisConfiguration(url: "redis://h").tls == nil)
    }

    @Test(
        "what no rediss:// URL says",
        arguments: [
            "redis://h?ca=/a", "unix:///s?ca=/a", "rediss://h?ca", "rediss://h?ca=", "rediss://h?ca=/a&ca=/a",
            "rediss://h?tls13=yes", "rediss://h?dangerously-accept-any-certificate=1", "rediss://h?insecure=true",
            "rediss://h?ca=%zz", "rediss://h?db=1&db=2", "rediss://", "rediss://:1",
        ]
    )
    func malformed(url: String) {
        let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
        #expect(error?.code == .invalidConfiguration)
    }

    #if TLS
    @Test("options that would fail every connection are refused when the client is made, with the file that is wrong")
    func invalid() async throws {
        let authority = try await TestAuthority.make()
        let certificate = try await authority.issue()
        let other = try await authority.issue()
        func refusal(_ change: (inout TLSOptions) -> Void) -> String {
            var configuration = RedisConfiguration(endpoint: .tcp(host: "h"))
            var options = TLSOptions()
            change(&options)
            configuration.tls = options
            do {
                _ = try RedisClient(configuration)
                return ""
            } catch let error as RedisError {
                return error.code == .invalidConfiguration ? error.message : "\(error)"
            } catch { return "\(error)" }
        }
        #expect(refusal { _ in } == "")
        #expect(refusal { $0.authorities = authority.certificate } == "")
        #expect(refusal { ($0.certificate, $0.key) = (certificate.certificate, certificate.key) } == "")
        #expect(refusal { $0.authorities = "/nowhere/ca.pem" }.contains("/nowhere/ca.pem"))
        #expect(refusal { $0.authorities = certificate.key }.contains("authorities"))
        #expect(refusal { $0.authorities = "" }.contains("empty"))
        #expect(refusal { $0.authorities = "/a\0b" }.contains("NUL"))
        #expect(refusal { $0.certificate = certificate.certificate }.contains("both"))
        #expect(refusal { $0.key = certificate.key }.contains("both"))
        #expect(
            refusal { ($0.certificate, $0.key) = (certificate.certificate, other.key) }
                .contains("mismatch")
        )
        #expect(refusal { ($0.certificate, $0.key) = (certificate.key, certificate.key) }.contains("certificate"))
        #expect(refusal { ($0.certificate, $0.key) = (certificate.certificate, "/nowhere/k") }.contains("/nowhere/k"))

        var socket = RedisConfiguration(endpoint: .unix(path: "/s"))
        socket.tls = TLSOptions()
        let error = #expect(throws: RedisError.self) { try RedisClient(socket) }
        #expect(error?.code == .invalidConfiguration)
    }
    #else
    @Test("a build without the trait refuses TLS, and says so")
    func leftOut() throws {
        let error = #expect(throws: RedisError.self) { try RedisClient("rediss://h") }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("trait TLS") == true)
    }
    #endif

    @Test(
        "a password that leaves this machine in plain text is warned of, once, and no other",
        arguments: [
            ("redis://:p@192.0.2.1:1", true), ("redis://192.0.2.1:1", false), ("redis://:p@127.0.0.1:1", false),
            ("redis://:p@localhost:1", false), ("redis://:p@[::1]:1", false), ("unix://:p@/s", false),
        ]
    )
    func plainPassword(url: String, warns: Bool) throws {
        let recorder = LogRecorder()
        try RedisConfiguration(url: url).warn(recorder.logger)
        #expect(recorder.lines.contains { $0.level == .warning && $0.text.contains("plain text") } == warns)
    }

    @Test("the client of a cluster warns of it once, and not for each node; another client does again")
    func plainPasswordOfCluster() async throws {
        let recorder = LogRecorder()
        var configuration = try RedisConfiguration(url: "redis-cluster://:p@127.0.0.1:1")
        configuration.connectTimeout = .milliseconds(100)
        for clients in 1...2 {
            let redis = try RedisClient(configuration, logger: recorder.logger)
            let cluster = try #require(redis.cluster)
            // The same machine by another name, where nothing listens; a node warns when its thread begins.
            let nodes = try (1...3).map { try cluster.node(at: .tcp(host: "::ffff:127.0.0.1", port: $0)).client() }
            for node in nodes { await #expect(throws: RedisError.self) { try await node.ping() } }
            #expect(recorder.lines.count { $0.level == .warning && $0.text.contains("plain text") } == clients)
            await redis.shutDown()
        }
    }
}
