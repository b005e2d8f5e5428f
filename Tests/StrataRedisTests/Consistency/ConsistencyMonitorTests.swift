import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A monitor of a fleet", .timeLimit(.minutes(5)))
struct ConsistencyMonitorTests {
    private let keyspace: Keyspace = "things"

    private func instance(_ url: String, _ name: String, coherence: Coherence = .tracking) throws -> Instance {
        try Instance(url, keyspace, coherence: coherence) { $0.instanceName = name }
    }

    /// A monitor at work, which is told of changes and asks so many instances.
    private func withMonitor(
        _ server: RedisServer,
        instances count: Int,
        delays: [Duration] = [.milliseconds(50), .milliseconds(300), .seconds(2), .seconds(5)],
        _ body: (ConsistencyMonitor) async throws -> Void
    ) async throws {
        let redis = try TestServer.client(of: server) { $0.linkPingInterval = .milliseconds(100) }
        let monitor = ConsistencyMonitor(redis, keyspace: keyspace, delays: delays, rate: 60)
        let running = Task { await monitor.run() }
        while monitor.report.instances < count || !monitor.report.isListening { try await nextTurn() }
        let result = await Result { try await body(monitor) }
        running.cancel()
        await running.value
        try result.get()
    }

    /// Has `writer` set a key that `reader` then has in memory, and returns when the monitor has seen its version.
    private func spread(
        _ key: String,
        tags: [String] = [],
        from writer: Instance,
        to reader: Instance,
        _ monitor: ConsistencyMonitor
    ) async throws {
        var report = monitor.report
        let before = report.total[0]
        var abandoned = report.abandoned
        try await writer.cache.set("old", for: key, tags: tags)
        #expect(try await reader.cache.get(key) == "old")
        while report.total[0] == before {
            try await nextTurn()
            report = monitor.report
            // A check that came too late says nothing: another set is followed.
            guard report.abandoned > abandoned else { continue }
            abandoned = report.abandoned
            try await writer.cache.set("old", for: key, tags: tags)
        }
        // The question came by the link of the reader, after the news of this very set: what it took meanwhile is void.
        while reader.remembers(key) != "old" { #expect(try await reader.cache.get(key) == "old") }
    }

    private func first(_ findings: AsyncStream<Inconsistency>) async -> Inconsistency? {
        for await finding in findings { return finding }
        return nil
    }

    @Test("nothing is wrong in a fleet at work: thousands of checks, and no inconsistency")
    func calm() async throws {
        try await RedisServer.withServer { server in
            let fleet = try (1...3).map { try instance(server.url, "web-\($0)") }
            for instance in fleet { try await instance.listen() }
            try await withMember(of: fleet[0]) {
                try await withMember(of: fleet[1]) {
                    try await withMember(of: fleet[2]) {
                        let delays = [Duration.milliseconds(50), .milliseconds(300)]
                        try await withMonitor(server, instances: 3, delays: delays) { monitor in
                            var generator = SplitMix64.announced()
                            func isEnough() -> Bool {
                                let counts = monitor.report.total.map(\.consistent)
                                return counts.reduce(0, +) >= 3000 && counts.allSatisfy { $0 > 500 }
                            }
                            while !isEnough() {
                                let instance = fleet[Int.random(in: 0..<3, using: &generator)]
                                let key = "key-\(Int.random(in: 0..<40, using: &generator))"
                                switch Int.random(in: 0..<20, using: &generator) {
                                case 0..<4: try await instance.cache.set("v", for: key, tags: ["t", key])
                                case 4: try await instance.cache.remove(key)
                                case 5: try await instance.cache.invalidate(tag: key)
                                case 6 where Int.random(in: 0..<50, using: &generator) == 0:
                                    try await instance.cache.clear()
                                default: _ = try await instance.cache.get(key)
                                }
                                try await nextTurn()
                            }
                            let report = monitor.report
                            #expect(report.total.allSatisfy { $0.inconsistent == 0 }, "\(report)")
                            #expect(report.total.allSatisfy { $0.unknown == 0 }, "\(report)")
                            #expect(report.changes > 100 && !report.buckets.isEmpty)
                        }
                    }
                }
            }
        }
    }

    @Test("memory that keeps what was superseded is found, with key, instance, stamps and cause")
    func superseded() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try instance(server.url, "web-1"), try instance(server.url, "web-2"))
            for instance in [one, two] { try await instance.listen() }
            try await withMember(of: two) {
                try await withMonitor(server, instances: 1) { monitor in
                    let findings = monitor.inconsistencies()
                    try await spread("a", from: one, to: two, monitor)
                    // Its ticket is void as soon as the key changes; this one never is.
                    var entry = try #require(two.memory.glimpse("a")?.entry)
                    entry.ticket = .none
                    try await two.memory.store(entry, for: "a")
                    try await one.cache.set("new", for: "a")
                    let finding = try #require(await first(findings))
                    #expect(try await two.cache.get("a") == "old")
                    #expect(finding.keyBytes == "a".keyBytes && finding.key == two.level.names(for: "a").value)
                    #expect(finding.instance == "web-2" && finding.version == entry.version)
                    let stored = try await one.level.entry(for: "a", ReadRequest())
                    #expect(finding.stored == .entry(try #require(stored).version))
                    #expect(finding.cause == .heardAndKept && finding.age >= finding.delay)
                    #expect(monitor.report.total.reduce(0) { $0 + $1.inconsistent } > 0)
                }
            }
        }
    }

    @Test("what an instance has set itself is decided: it is the entry of Redis, and then one that was superseded")
    func ownSet() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try instance(server.url, "web-1"), try instance(server.url, "web-2"))
            for instance in [one, two] { try await instance.listen() }
            try await withMember(of: two) {
                try await withMonitor(server, instances: 1) { monitor in
                    let findings = monitor.inconsistencies()
                    try await two.cache.set("old", for: "a")
                    var (report, sets) = (monitor.report, 1)
                    while report.total.contains(where: { $0.consistent == 0 }) {
                        // A check without an answer, or that came too late, says nothing: another set is followed.
                        let ended = report.total.reduce(report.abandoned) { $0 + $1.byName.values.reduce(0, +) }
                        if ended >= sets * report.delays.count {
                            try await two.cache.set("old", for: "another \(sets)")
                            sets += 1
                        }
                        try await nextTurn()
                        report = monitor.report
                    }
                    #expect(monitor.report.total.allSatisfy { $0.undecided == 0 }, "\(monitor.report)")
                    var entry = try #require(two.memory.glimpse("a")?.entry)
                    entry.ticket = .none
                    try await two.memory.store(entry, for: "a")
                    try await one.cache.set("new", for: "a")
                    let finding = try #require(await first(findings))
                    #expect(finding.keyBytes == "a".keyBytes && finding.version == entry.version)
                    #expect(entry.version != .none)
                }
            }
        }
    }

    @Test("memory that keeps what was removed is found by its age, also without a stamp")
    func removed() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try instance(server.url, "web-1"), try instance(server.url, "web-2"))
            for instance in [one, two] { try await instance.listen() }
            try await one.cache.set("old", for: "a")
            try await two.memory.set("old", for: "a")
            while try #require(two.memory.glimpse("a")).leastAge < .seconds(1) { try await nextTurn() }
            try await withMember(of: two) {
                try await withMonitor(server, instances: 1) { monitor in
                    let findings = monitor.inconsistencies()
                    // As long as the monitor does not know up to when all was told, the order cannot be proved.
                    let end = Task { await first(findings) }
                    while monitor.report.total.allSatisfy({ $0.inconsistent == 0 }) {
                        try await one.cache.set("new", for: "a")
                        try await one.cache.remove("a")
                        try await nextTurn()
                    }
                    let finding = try #require(await end.value)
                    #expect(finding.keyBytes == "a".keyBytes && finding.version == nil)
                    #expect(finding.cause == .heardAndKept)
                }
            }
        }
    }

    @Test("memory that keeps what a tag has voided is found, although Redis holds the same")
    func void() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try instance(server.url, "web-1"), try instance(server.url, "web-2"))
            for instance in [one, two] { try await instance.listen() }
            try await withMember(of: two) {
                try await withMonitor(server, instances: 1) { monitor in
                    let findings = monitor.inconsistencies()
                    try await spread("a", tags: ["red"], from: one, to: two, monitor)
                    var entry = try #require(two.memory.glimpse("a")?.entry)
                    (entry.ticket, entry.seal, entry.tags) = (.none, nil, [])
                    try await two.memory.store(entry, for: "a")
                    try await one.cache.invalidate(tag: "red")
                    let finding = try #require(await first(findings))
                    #expect(finding.keyBytes == "a".keyBytes && finding.version == entry.version)
                    #expect(finding.stored == .void && finding.instance == "web-2")
                }
            }
        }
    }

    @Test("an instance whose level does not listen serves what was superseded, and that is named as the cause")
    func withoutLink() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server.url, "web-1")
            let two = try instance(server.url, "web-2", coherence: .none)
            try await one.listen()
            try await withMember(of: two) {
                try await withMonitor(server, instances: 1) { monitor in
                    let findings = monitor.inconsistencies()
                    try await spread("a", from: one, to: two, monitor)
                    try await one.cache.set("new", for: "a")
                    #expect(try #require(await first(findings)).cause == .notListening)
                    #expect(two.remembers("a") == "old")
                }
            }
        }
    }

    @Test("an instance whose link delivers nothing is silent; its memory is counted apart")
    func stalledLink() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try instance(server.url, "web-1")
            let two = try instance(proxy.url, "web-2")
            for instance in [one, two] { try await instance.listen() }
            try await withMember(of: two) {
                try await withMonitor(server, instances: 1) { monitor in
                    try await spread("a", from: one, to: two, monitor)
                    proxy.stall(.toClient)
                    try await one.cache.set("new", for: "a")
                    #expect(two.remembers("a") == "old")
                    while monitor.report.total.allSatisfy({ $0.silent == 0 }) { try await nextTurn() }
                    #expect(monitor.report.total.allSatisfy { $0.inconsistent == 0 })
                    proxy.resume()
                }
            }
            await proxy.stop()
        }
    }

    @Test("instances that lie, write megabytes or never answer cost their own checks and no more")
    func liars() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try instance(server.url, "web-1"), try instance(server.url, "web-2"))
            for instance in [one, two] { try await instance.listen() }
            let liar = try TestServer.client(of: server)
            let end = String(try await liar.time().saturatedNanoseconds / 1_000_000 + 600_000)
            let label = LevelLabel("memory", counters: [])
            for number in ["00000000000000a1", "00000000000000a2", "00000000000000a3", "00000000000000a4"] {
                let record = InstanceRecord(name: "liar\u{1b}", uptime: .zero, link: nil, label: label)
                _ = try await liar.send(["HSET", keyspace.instances.description, number, end].map { Array($0.utf8) })
                try await liar.set(keyspace.record(of: number), record.bytes, expiringIn: .seconds(600))
            }
            let listener = FleetListener(of: QuestionNumber())
            let registration = liar.cache.tell(listener, of: keyspace)
            liar.begin()
            let keyspace = keyspace
            let lying = Task {
                for await (question, number) in listener.questions {
                    guard case .versions(let keys) = question else { continue }
                    func answer(_ key: VersionAnswer.Key, count: Int) -> [UInt8] {
                        let trail = ChangeTrail(at: .now)
                        var answer = VersionAnswer([], trail, isTold: true, link: nil, at: .now)
                        answer.keys = Array(repeating: key, count: count)
                        (answer.reach, answer.listening, answer.everything) = (.min, .max, .min)
                        return answer.bytes
                    }
                    let odd = VersionAnswer.Key(state: "fresh", version: "\u{1b}[2J", age: .min, heard: [.min, .max])
                    for (instance, bytes) in [
                        ("00000000000000a1", [UInt8](repeating: 0x9f, count: 3 << 20)),
                        ("00000000000000a2", answer(odd, count: keys.count)),
                        ("00000000000000a3", answer(odd, count: keys.count + 1)),
                    ] {
                        _ = try? await liar.set(
                            keyspace.answer(to: number.text, of: instance),
                            bytes,
                            expiringIn: .seconds(10)
                        )
                    }
                }
            }
            try await withMember(of: two) {
                try await withMonitor(server, instances: 5) { monitor in
                    while monitor.report.total.contains(where: { $0.consistent < 20 || $0.unknown < 3 || $0.silent < 2 }
                    ) {
                        try await one.cache.set("v", for: "key-\(Int.random(in: 0..<50))")
                        _ = try await two.cache.get("key-1")
                        // A key that changes all the time is not looked at to an end.
                        try await Task.pause(for: .milliseconds(50))
                    }
                    #expect(monitor.report.total.allSatisfy { $0.inconsistent == 0 })
                }
            }
            liar.cache.tellNoMore(registration)
            listener.finish()
            await lying.value
        }
    }

    @Test("who asks needs the purpose 'inspect', and no more")
    func rights() async throws {
        let rules = AccessRules(for: [.inspect], keyspaces: [keyspace], serverVersion: 7)
        let directive = RedisServer.Directive(stringLiteral: "user asker on >pw \(rules)")
        try await RedisServer.withServer(.init(directives: [directive])) { server in
            let one = try instance(server.url, "web-1")
            try await one.listen()
            let asker = try TestServer.client(of: server) { ($0.username, $0.password) = ("asker", Secret("pw")) }
            try await withMember(of: one) {
                let monitor = ConsistencyMonitor(asker, keyspace: keyspace, delays: [.milliseconds(50)], rate: 60)
                let running = Task { await monitor.run() }
                while monitor.report.total[0].consistent < 5 {
                    try await one.cache.set("v", for: "a", tags: ["red"])
                    try await one.cache.remove("a")
                    try await nextTurn()
                }
                running.cancel()
                await running.value
                let log = try await server.command("ACL", "LOG").text
                #expect(!log.contains("reason"), "\(log)")
            }
        }
    }
}
