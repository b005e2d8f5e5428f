#if Configuration
import Configuration
import Foundation
import StrataRedis
import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata
@testable import StrataConfiguration

@Suite("A configuration that changes while a service runs", .timeLimit(.minutes(5)))
struct CacheReloadTests {
    private struct Service {
        let provider: MutableInMemoryProvider
        let config: ConfigReader
        let caches: RedisCaches
        let reload: CacheReload
        let log = LogRecorder()

        init(_ values: [String: ConfigContent], _ adjust: (inout RedisConfiguration) -> Void = { _ in }) throws {
            var all = values
            all["strata.redis.url"] = all["strata.redis.url"] ?? "redis://127.0.0.1:1"
            provider = MutableInMemoryProvider(initialValues: TestConfig.keyed(all))
            config = ConfigReader(provider: provider).scoped(to: "strata")
            caches = try RedisCaches(config: config, compressions: ["test": SettingTableTests.stage])
            reload = CacheReload(of: caches, from: config, logger: log.logger)
        }

        func set(_ key: String, _ content: ConfigContent?) {
            let value = content.map { ConfigValue($0, isSecret: false) }
            provider.setValue(value, forKey: AbsoluteConfigKey(ConfigKey("strata." + key)))
        }

        func apply() { reload.apply(config.snapshot()) }

        func cache(_ name: String) throws -> NamedCache<Int, Int> { try caches.cache(name) }

        func lines(_ part: String) -> [String] { log.lines.map(\.text).filter { $0.contains(part) } }
    }

    @Test("what takes effect at once does, in caches that exist and in later ones")
    func effects() throws {
        let service = try Service(["strata.caches.products.memory.entries": 7])
        let products = try service.cache("products")
        service.set("caches.products.memory.entries", 9)
        service.set("defaults.freshness.freshFor", "1h")
        service.set("defaults.leases.fetchLimit", 3)
        service.set("redis.redisBudget", "123ms")
        service.set("redis.breaker.minimumCalls", 77)
        service.apply()
        #expect(products.upper.limit.total == 9)
        #expect(products.lower.level.freshness.freshFor == .seconds(3_600))
        #expect(products.lower.options.fetchLimit == 3)
        #expect(service.caches.redis.redisBudget == .milliseconds(123))
        #expect(service.caches.redis.breaker.minimumCalls == 77)
        #expect(try service.cache("later").lower.level.freshness.freshFor == .seconds(3_600))
        #expect(service.lines("next start").isEmpty)
        // What is taken away counts no more.
        service.set("redis.breaker.minimumCalls", nil)
        service.set("caches.products.memory.entries", nil)
        service.set("defaults.freshness.freshFor", nil)
        service.apply()
        #expect(products.upper.limit.total == 10_000)
        #expect(products.lower.level.freshness == FreshnessPolicy())
        #expect(service.caches.redis.breaker == BreakerOptions())
    }

    @Test("a value that makes no sense changes nothing at all, and the log says so once")
    func refused() throws {
        let service = try Service([:])
        let products = try service.cache("products")
        _ = try service.cache("sessions")
        service.set("defaults.memory.entries", 5)
        service.set("redis.redisBudget", "100ms")
        service.set("caches.sessions.freshness.freshFor", "hunter2")
        for _ in 0..<3 { service.apply() }
        #expect(products.upper.limit.total == 10_000)
        #expect(service.caches.redis.redisBudget == .milliseconds(500))
        let lines = service.lines("cannot be used")
        #expect(
            lines.count == 1 && lines[0].contains("caches.sessions.freshness.freshFor") && !lines[0].contains("hunter2")
        )
        service.set("caches.sessions.freshness.freshFor", "7s")
        service.apply()
        #expect(products.upper.limit.total == 5 && service.caches.redis.redisBudget == .milliseconds(100))
        #expect(service.lines("can be used again").count == 1)
        #expect(try service.cache("sessions").lower.level.freshness.freshFor == .seconds(7))
    }

    @Test(
        "with what the next start would fail nothing changes: a server that is none, keys that contradict each other",
        arguments: [
            ("url", "http://hunter2/"), ("endpoints", "127.0.0.1:6379"), ("sentinels.password", "hunter2"),
            ("topology", "cluster"), ("credentials.passwordVariable", "VARIABLE"), ("url", nil),
            ("tls.certificate", "/nowhere/client.pem"),
        ] as [(String, ConfigContent?)]
    )
    func nextStart(key: String, content: ConfigContent?) throws {
        let service = try Service(["strata.redis.url": "redis://:pw@127.0.0.1:1"])
        service.set("redis.redisBudget", "100ms")
        service.set("redis." + key, content)
        service.apply()
        #expect(service.caches.redis.redisBudget == .milliseconds(500))
        let lines = service.lines("cannot be used")
        #expect(lines.count == 1 && lines[0].contains("redis.") && !lines[0].contains("hunter2"), "\(lines)")
        service.set("redis." + key, key == "url" ? "redis://:pw@127.0.0.1:1" : nil)
        service.apply()
        #expect(service.caches.redis.redisBudget == .milliseconds(100))
    }

    @Test("two caches that would have one keyspace at the next start are refused now")
    func oneKeyspace() throws {
        let service = try Service(["strata.redis.connections": 1])
        _ = try (service.cache("a"), service.cache("b"))
        service.set("caches.b.keyspace.name", "a")
        service.set("redis.redisBudget", "100ms")
        service.apply()
        #expect(service.caches.redis.redisBudget == .milliseconds(500))
        #expect(service.lines("cannot be used").count == 1)
        service.set("caches.b.keyspace.name", "c")
        service.apply()
        #expect(service.caches.redis.redisBudget == .milliseconds(100))
    }

    @Test("what waits for the next start is named once, by its keys, and secrets show by their keys alone")
    func fixed() throws {
        let service = try Service(["strata.redis.connections": 1])
        _ = try service.cache("products")
        service.apply()
        #expect(service.log.lines.isEmpty)
        service.set("redis.connections", 2)
        service.set("redis.url", "redis://:hunter2@127.0.0.1:2")
        service.set("redis.password", "hunter3")
        service.set("caches.products.codec", "cbor")
        service.set("caches.products.compression", "test")
        service.set("defaults.memory.lifetime", "1m")
        for _ in 0..<3 { service.apply() }
        let lines = service.lines("next start")
        #expect(lines.count == 1, "\(lines)")
        let keys = [
            "caches.products.codec", "caches.products.compression", "caches.products.memory.lifetime",
            "redis.connections", "redis.password", "redis.url",
        ]
        #expect(lines.first?.hasSuffix("keys=" + keys.joined(separator: ", ")) == true, "\(lines)")
        #expect(service.log.lines.allSatisfy { !$0.text.contains("hunter") })
        // A cache that comes later has them.
        #expect(try service.cache("later").upper.lifetime == .seconds(60))
        service.set("redis.connections", 1)
        service.apply()
        #expect(service.lines("next start").count == 2)
        #expect(service.lines("next start").last?.contains("redis.connections") == false)
    }

    @Test("terms that the code has set stay, where the configuration says nothing of them")
    func codeTerms() throws {
        let provider = MutableInMemoryProvider(initialValues: [:])
        let config = ConfigReader(provider: provider)
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        configuration.redisBudget = .milliseconds(321)
        configuration.breaker.minimumCalls = 55
        let caches = RedisCaches(try RedisClient(configuration))
        let reload = CacheReload(of: caches, from: config)
        provider.setValue("50ms", forKey: "redis.breaker.slowAfter")
        reload.apply(config.snapshot())
        #expect(caches.redis.redisBudget == .milliseconds(321))
        #expect(caches.redis.breaker.minimumCalls == 55 && caches.redis.breaker.slowAfter == .milliseconds(50))
    }

    @Test("a service follows its file: what is written there is in force a moment later, and the values in memory stay")
    func file() async throws {
        let folder = try TestConfig.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "config.json")
        let server = try await RedisServer.shared()
        func write(_ entries: Int, _ freshFor: String) throws {
            let text = """
                { "strata": { "redis": { "url": "\(server.url)", "connectTimeout": "10s", "commandTimeout": "20s",
                                         "redisBudget": "20s", "healthWindow": "20s", "linkPingTimeout": "60s",
                                         "breaker": { "slowAfter": "20s" } },
                  "defaults": { "memory": { "entries": \(entries) }, "freshness": { "freshFor": "\(freshFor)" },
                                "keyspace": { "prefix": "config-\(folder.lastPathComponent)" } } } }
                """
            try Data(text.utf8).write(to: file, options: .atomic)
        }
        try write(100, "1m")
        let provider = try await ReloadingFileProvider<JSONSnapshot>(config: TestConfig.place(of: file))
        let config = ConfigReader(provider: provider).scoped(to: "strata")
        let caches = try RedisCaches(config: config)
        let products: NamedCache<Int, Int> = try caches.cache("products")
        try await caches.ready(within: .seconds(60))
        for key in 0..<50 { try await products.set(key, for: key) }
        #expect(products.upper.statistics.entries == 50)
        let log = LogRecorder()
        let reload = CacheReload(of: caches, from: config, logger: log.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await provider.run() }
            group.addTask { try await reload.run() }
            try write(10, "2m")
            // One setting after the other changes, and the limit a moment before what exceeds it goes.
            while products.lower.level.freshness.freshFor != .seconds(120) { try await nextTurn() }
            while products.upper.statistics.entries != 10 { try await nextTurn() }
            #expect(products.upper.limit.total == 10)
            // A file that is no JSON is the provider's to refuse; one with a wrong value is not taken.
            try write(20, "soon")
            while log.lines.isEmpty { try await nextTurn() }
            #expect(products.upper.limit.total == 10)
            #expect(log.lines.first?.text.contains("defaults.freshness.freshFor") == true)
            try write(20, "3m")
            while products.lower.level.freshness.freshFor != .seconds(180) { try await nextTurn() }
            while products.upper.limit.total != 20 { try await nextTurn() }
            group.cancelAll()
            try await group.waitForAll()
        }
        try await products.clear()
        await caches.redis.shutDown()
    }
}
#endif
