#if Configuration
import Configuration
import Strata
import StrataRedis
import Testing

@testable import StrataConfiguration

@Suite("Every key sets what it names")
struct SettingTableTests {
    /// A value of a form that is no default.
    private func sample<Target>(_ setting: Setting<Target>, unlike standard: String?) -> String {
        let samples: [String] =
            switch setting.form {
            case .text: ["sample", "other"]
            case .duration: ["1234ms", "4321ms"]
            case .range: ["7ms...9s", "8ms...10s"]
            case .integer: ["11", "12"]
            case .size: ["3MiB", "5MiB"]
            case .number: ["0.75", "0.875"]
            case .flag: ["true", "false"]
            case .list: ["a", "b"]
            case .choice(let words): words
            case .coherence: ["3s", "none"]
            }
        return samples.first { $0 != standard } ?? samples[0]
    }

    private func check<Target>(_ settings: [Setting<Target>], _ standard: Target, leavingOut: Set<String> = []) throws {
        #expect(Set(settings.map(\.key)).count == settings.count)
        for setting in settings where !leavingOut.contains(setting.key) {
            let text = sample(setting, unlike: setting.text(standard))
            let config = TestConfig.memory([setting.key: .string(text)])
            var target = standard
            try SettingReader(config.snapshot()).read(settings, into: &target)
            #expect(setting.text(target) == text, "\(setting.key)")
            // And nothing else.
            for other in settings where other.key != setting.key && !leavingOut.contains(other.key) {
                #expect(other.text(target) == other.text(standard), "\(setting.key) changes \(other.key)")
            }
            var copy = standard
            setting.copy(target, &copy)
            #expect(setting.text(copy) == text, "\(setting.key) is not copied")
        }
    }

    @Test("of policies and options")
    func policies() throws {
        try check(FreshnessPolicy.settings, FreshnessPolicy(), leavingOut: ["preset"])
        try check(LeaseOptions.settings, LeaseOptions())
        try check(RetryPolicy.settings, RetryPolicy(), leavingOut: ["factor"])
        try check(TLSOptions.settings, TLSOptions())
        try check(BreakerOptions.settings, BreakerOptions())
        try check(ReplyLimits.settings, ReplyLimits())
        let retry = try RetryPolicy(config: TestConfig.environment(["FACTOR": "3.5"]))
        #expect(retry.factor == 3.5)
    }

    @Test("of the client")
    func client() throws {
        try check(RedisConfiguration.settings, try RedisConfiguration(url: "redis://localhost"))
    }

    @Test("of a cache")
    func cache() throws {
        // The units of memory exclude each other, and compressions have the names that the code gives them.
        let elsewhere: Set = ["memory.entries", "memory.bytes", "compression", "freshness.preset"]
        try check(CacheSettings.settings, CacheSettings(), leavingOut: elsewhere)
        func settings(_ variables: [String: String]) throws -> CacheSettings {
            try CacheSettings(config: TestConfig.environment(variables), compressions: ["test": Self.stage])
        }
        #expect(try settings(["MEMORY_ENTRIES": "7"]).memory == .entries(7))
        #expect(try settings(["MEMORY_ENTRIES": "0"]).memory == .entries(0))
        #expect(try settings(["MEMORY_BYTES": "64MiB"]).memory == .bytes(64 << 20))
        #expect(try settings(["COMPRESSION": "test"]).compression?.description == "test")
        #expect(try settings(["COMPRESSION": "none"]).compression == nil)
        #expect(TestConfig.error { _ = try settings(["COMPRESSION": "zstd"]) }?.code == .unknownValue)
        let both = TestConfig.error { _ = try settings(["MEMORY_ENTRIES": "7", "MEMORY_BYTES": "1KiB"]) }
        #expect(both?.code == .conflict && both?.key == "memory.entries")
        #expect(try settings(["COHERENCE": "tracking"]).coherence == .tracking)
        #expect(try settings(["COHERENCE": "none"]).coherence == Coherence.none)
        #expect(try settings(["REMOVALS": "deferred"]).removals == .deferred)
    }

    static let stage = ByteStage(
        identifier: 200,
        name: "test",
        apply: { bytes, _ in bytes },
        undo: { bytes, _ in bytes }
    )

    @Test("a preset is a whole policy, which other keys of the section change")
    func preset() throws {
        #expect(try FreshnessPolicy(config: TestConfig.environment(["PRESET": "resilient"])) == .resilient)
        #expect(try FreshnessPolicy(config: TestConfig.environment(["PRESET": "immutable"])) == .immutable)
        var expected = FreshnessPolicy.current
        expected.staleIfError = .seconds(3_600)
        let config = TestConfig.environment(["PRESET": "current", "STALE_IF_ERROR": "1h"])
        #expect(try FreshnessPolicy(config: config) == expected)
        #expect(
            TestConfig.error { _ = try FreshnessPolicy(config: TestConfig.environment(["PRESET": "fresh"])) }?.code
                == .unknownValue
        )
    }

    @Test("none takes a limit away where there may be none")
    func none() throws {
        let config = TestConfig.environment(["HARD_TIMEOUT": "none", "SOFT_TIMEOUT": "none"])
        let policy = try FreshnessPolicy(config: config, default: .resilient)
        #expect(policy.hardTimeout == nil && policy.softTimeout == nil)
        #expect(try LeaseOptions(config: TestConfig.environment(["FAILURE_BACK_OFF": "none"])).failureBackOff == nil)
        #expect(
            TestConfig.error { _ = try FreshnessPolicy(config: TestConfig.environment(["FRESH_FOR": "none"])) }?.code
                == .wrongForm
        )
    }

    /// A key, a value that it does not take, and why.
    static let refusals: [(String, String, ConfigurationError.Code)] = [
        ("connections", "0", .outOfRange), ("connections", "65", .outOfRange), ("connections", "two", .wrongForm),
        ("connections", "1.5", .wrongForm), ("connectTimeout", "0s", .outOfRange),
        ("connectTimeout", "soon", .wrongForm),
        ("connectTimeout", "40000d", .outOfRange), ("redisBudget", "-1s", .wrongForm), ("database", "-1", .outOfRange),
        ("queuedBytesLimit", "0", .outOfRange), ("queuedBytesLimit", "16 MB", .wrongForm),
        ("reconnectDelay", "5s...50ms", .outOfRange), ("reconnectDelay", "0s...5s", .outOfRange),
        ("reconnectDelay", "50ms", .wrongForm), ("reconnectDelay", "none", .wrongForm),
        ("breaker.failureShare", "-0.5", .outOfRange), ("breaker.failureShare", "nan", .wrongForm),
        ("breaker.minimumCalls", "0", .outOfRange), ("replicaLagLimit", "99ms", .outOfRange),
        ("replyLimits.depth", "129", .outOfRange), ("replyLimits.elements", "0", .outOfRange),
        ("clientName", "a name", .wrongForm), ("clientName", "", .wrongForm),
        ("inFlightLimit", "99999999999999999999", .wrongForm),
    ]

    @Test("numbers out of range and other forms are errors that name the key, and not the value", arguments: refusals)
    func refused(key: String, value: String, code: ConfigurationError.Code) throws {
        let config = TestConfig.memory(["url": "redis://localhost", key: .string(value)])
        let error = try #require(TestConfig.error { _ = try RedisConfiguration(config: config) })
        #expect(error.key == key && error.code == code, "\(error)")
        #expect(!error.message.contains(value) || value.count < 3, "\(error)")
    }

    @Test("no error shows a value, whatever stands under whatever key")
    func silent() throws {
        let secret = "hunter2-hunter2"
        let all = ServerSettings.settings.map(\.key) + RedisConfiguration.settings.map(\.key)
        for key in all {
            var values: [String: ConfigContent] = ["endpoints": "localhost"]
            values[key] = .string(secret)
            let config = TestConfig.memory(values)
            guard let error = TestConfig.error(of: { _ = try RedisConfiguration(config: config) }) else { continue }
            #expect(!"\(error)".contains("hunter2"), "\(key)")
            #expect(!String(describing: error.cause as Any).contains("hunter2"), "\(key)")
        }
    }
}
#endif
