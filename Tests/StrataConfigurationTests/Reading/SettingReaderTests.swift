#if Configuration
import Configuration
import Strata
import StrataRedis
import Testing

@testable import StrataConfiguration

@Suite("Values of every provider and type")
struct SettingReaderTests {
    private func policy(_ config: ConfigReader) throws -> FreshnessPolicy { try FreshnessPolicy(config: config) }

    @Test("a duration may be a text, a whole number or a fraction of seconds, in whatever type a provider has it")
    func durations() async throws {
        let texts = ["2m", "120", "120.0"]
        for text in texts { #expect(try policy(TestConfig.environment(["FRESH_FOR": text])).freshFor == .seconds(120)) }
        for content in [ConfigContent.string("2m"), .int(120), .double(120)] {
            #expect(try policy(TestConfig.memory(["freshFor": content])).freshFor == .seconds(120))
        }
        for value in ["\"2m\"", "120", "120.0"] {
            #expect(try policy(await TestConfig.json("{ \"freshFor\": \(value) }")).freshFor == .seconds(120))
        }
    }

    @Test("a key that no provider has leaves the default")
    func absent() throws {
        #expect(try policy(TestConfig.memory([:])) == FreshnessPolicy())
        #expect(try policy(TestConfig.environment([:])) == FreshnessPolicy())
        let resilient = try FreshnessPolicy(config: TestConfig.environment(["JITTER": "0.5"]), default: .resilient)
        var expected = FreshnessPolicy.resilient
        expected.jitter = 0.5
        #expect(resilient == expected)
    }

    @Test("a value of another type is an error that names the key, and no default")
    func mistyped() async throws {
        for content in [ConfigContent.stringArray(["1s"]), .bytes([1]), .boolArray([true]), .intArray([1])] {
            let error = TestConfig.error { _ = try policy(TestConfig.memory(["freshFor": content])) }
            #expect(error?.code == .wrongForm && error?.key == "freshFor", "\(content)")
        }
        let flag = TestConfig.error { _ = try policy(TestConfig.memory(["freshFor": .bool(true)])) }
        #expect(flag?.code == .wrongForm)
        for value in ["[1]", "[\"1s\"]", "[]"] {
            let config = try await TestConfig.json("{ \"freshFor\": \(value) }")
            let error = TestConfig.error { _ = try policy(config) }
            #expect(error?.code == .wrongForm && error?.key == "freshFor", "\(value)")
        }
    }

    @Test("a higher provider's value counts, and its wrong one hides none below")
    func order() throws {
        func config(_ first: [String: String]) -> ConfigReader {
            ConfigReader(providers: [
                EnvironmentVariablesProvider(environmentVariables: first),
                InMemoryProvider(values: TestConfig.keyed(["freshFor": .int(7), "jitter": .double(0.25)])),
            ])
        }
        let both = try policy(config(["FRESH_FOR": "1h"]))
        #expect(both.freshFor == .seconds(3_600) && both.jitter == 0.25)
        #expect(try policy(config([:])).freshFor == .seconds(7))
        #expect(TestConfig.error { _ = try policy(config(["FRESH_FOR": "soon"])) }?.key == "freshFor")
    }

    @Test("lists are lists, or texts with commas")
    func lists() throws {
        let expected = [RedisEndpoint.tcp(host: "a", port: 1), .tcp(host: "b", port: 6379)]
        let texts = TestConfig.environment(["ENDPOINTS": "a:1, b", "TOPOLOGY": "cluster"])
        let list = TestConfig.memory(["endpoints": .stringArray(["a:1", "b"]), "topology": "cluster"])
        let line = TestConfig.memory(["endpoints": "a:1, b", "topology": "cluster"])
        for config in [texts, list, line] {
            let configuration = try RedisConfiguration(config: config)
            #expect([configuration.endpoint] + configuration.furtherEndpoints == expected)
        }
    }

    @Test("one report an absent key, and a secret is reported as one")
    func reports() throws {
        let reporter = RecordingReporter()
        let config = TestConfig.memory(
            ["url": "redis://:hunter2@localhost", "sentinels.password": "hunter3"],
            reporter: reporter
        )
        let error = TestConfig.error { _ = try RedisConfiguration(config: config) }
        #expect(error?.key == "sentinels.password" && error?.code == .conflict)
        let secret = ["url", "password", "sentinels.password"]
        for event in reporter.events {
            let key = event.metadata.key.description
            #expect(!"\(event)".contains("hunter"))
            if case .success(let value?) = event.result { #expect(value.isSecret == secret.contains(key), "\(key)") }
        }
        let absent = reporter.events.filter { $0.metadata.key.description == "connectTimeout" }
        #expect(absent.isEmpty || absent.count == 1)
        #expect(reporter.events.contains { $0.metadata.key.description == "url" })
    }
}
#endif
