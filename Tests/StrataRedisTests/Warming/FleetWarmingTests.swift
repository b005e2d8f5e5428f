import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Warming from other instances", .timeLimit(.minutes(5)))
struct FleetWarmingTests {
    private let keyspace: Keyspace = "things"

    private func instance(_ server: RedisServer, _ name: String, user: String? = nil) throws -> Instance {
        try Instance(server.url, keyspace) { configuration in
            configuration.instanceName = name
            configuration.username = user
            configuration.password = user.map { _ in Secret("pw") }
        }
    }

    /// Patient options.
    private func options(_ keys: Int = 1_000, _ instances: Int = 3) -> FleetWarmingOptions {
        FleetWarmingOptions(keys: keys, instances: instances, answerLimit: .seconds(10))
    }

    /// Warms until an instance whose link is being made has answered.
    private func warmed(_ instance: Instance, _ options: FleetWarmingOptions) async throws -> FleetWarmingReport {
        while true {
            let report = try await instance.cache.warm(fromInstancesOf: instance.level, options)
            if report.answered > 0 { return report }
        }
    }

    // Takes the five seconds.
    @Test("while Redis is away a start goes on after five seconds, whatever its limit is")
    func away() async throws {
        try await RedisServer.withServer { server in
            let folder = try ScratchFolder()
            let one = try instance(server, "web-1/7")
            try await one.cache.set("v", for: "k")
            _ = try await one.cache.hibernate(to: folder.file)
            try await server.kill()
            let other = try instance(server, "web-2/8")
            var patient = options()
            patient.warming.limit = .seconds(6_000)
            let warming = patient
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    await #expect(throws: RedisError.self) {
                        try await other.cache.warm(fromInstancesOf: other.level, warming)
                    }
                }
                group.addTask {
                    await #expect(throws: RedisError.self) {
                        try await other.cache.restore(from: folder.file, within: .seconds(6_000))
                    }
                }
            }
        }
    }

    @Test("a new instance has what is hot in others, read from Redis, and hears of changes")
    func warm() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try instance(server, "web-1/7"), try instance(server, "web-2/8"))
            for instance in [one, two] { try await instance.listen() }
            for number in 0..<50 { try await one.cache.set("v\(number)", for: "k\(number)") }
            for _ in 0..<9 { for number in 20..<30 { _ = try await one.cache.get("k\(number)") } }
            try await withMember(of: one) {
                let report = try await warmed(two, options(10))
                #expect(report.listed == 1 && report.asked == 1 && report.answered == 1 && report.unusable == 0)
                #expect(report.named == 10 && report.warming.found == 10 && report.warming.isComplete)
                for number in 20..<30 { #expect(two.remembers("k\(number)") == "v\(number)") }
                #expect(two.remembers("k1") == nil)
                try await one.cache.set("new", for: "k20")
                while two.remembers("k20") != nil { try await two.redis.ping() }
                // All of it, when more are asked for than there are.
                #expect(try await warmed(two, options()).named == 50)
            }
        }
    }

    @Test("several instances take turns, the hottest of each first; one's own list is not asked for")
    func several() async throws {
        try await RedisServer.withServer { server in
            let instances = try ["web-1/7", "web-2/8", "web-3/9"].map { try instance(server, $0) }
            for instance in instances { try await instance.listen() }
            for number in 0..<20 { try await instances[number % 2].cache.set("v", for: "k\(number)") }
            try await withMember(of: instances[0]) {
                try await withMember(of: instances[1]) {
                    try await withMember(of: instances[2]) {
                        var report = FleetWarmingReport()
                        while report.answered < 2 {
                            // What one of them alone has named is not there any more.
                            try await instances[2].memory.removeAll()
                            report = try await instances[2].cache
                                .warm(fromInstancesOf: instances[2].level, options(10))
                        }
                        #expect(report.listed == 2 && report.named == 10 && report.warming.found == 10)
                        let odd = (0..<20).count { $0 % 2 == 1 && instances[2].remembers("k\($0)") != nil }
                        #expect(odd == 5)
                    }
                }
            }
        }
    }

    @Test("a fleet without instances, or without answers, is reported and is no error")
    func nobody() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            try await one.listen()
            let alone = try await one.cache.warm(fromInstancesOf: one.level)
            #expect(alone.listed == 0 && alone.answered == 0 && alone.warming.warmed == 0)
            try await list(one.redis, "00000000000000aa")
            let silent = FleetWarmingOptions(answerLimit: .milliseconds(30))
            let report = try await one.cache.warm(fromInstancesOf: one.level, silent)
            #expect(report.listed == 1 && report.asked == 1 && report.answered == 0 && report.unusable == 0)
        }
    }

    private func list(_ redis: RedisClient, _ number: String) async throws {
        let end = String(try await redis.time().saturatedNanoseconds / 1_000_000 + 100_000)
        let record = InstanceRecord(name: "liar", uptime: .seconds(90), link: nil, label: LevelLabel("memory"))
        _ = try await redis.send(["HSET", keyspace.instances.description, number, end].map { Array($0.utf8) })
        try await redis.set(keyspace.record(of: number), record.bytes, expiringIn: .seconds(100))
    }

    @Test("instances that lie name what they like, within bounds, and no source is asked for it")
    func liars() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server, "web-1/7")
            try await one.listen()
            try await one.cache.set("v", for: "real")
            try await one.memory.removeAll()
            let fetches = Shared(0)
            let cache = MemoryLevel<String, String>(limit: .entries(100))
                .compose(
                    one.level.fetching { _ in
                        _ = fetches.next()
                        return "fetched"
                    }
                )
            let answers: [[UInt8]] = [
                Array("no answer".utf8), [UInt8](repeating: 0x61, count: 3 << 20), [],
                HottestKeys([Array("real".utf8)] + (0..<20_000).map { Array("made up \($0)".utf8) }).bytes,
            ]
            let liar = try TestServer.client(of: server)
            let number = QuestionNumber()
            try await list(liar, number.text)
            let listener = FleetListener(of: number)
            let registration = liar.cache.tell(listener, of: keyspace)
            liar.begin()
            let keyspace = keyspace
            for bytes in answers {
                let lying = Task {
                    for await (_, asked) in listener.questions {
                        let name = keyspace.answer(to: asked.text, of: number.text)
                        if bytes.isEmpty {
                            _ = try await liar.send("RPUSH", name.description, "x")
                        } else {
                            _ = try await liar.set(name, bytes, expiringIn: .seconds(10))
                        }
                        return
                    }
                }
                var report = FleetWarmingReport()
                while report.answered + report.unusable == 0 {
                    report = try await cache.warm(fromInstancesOf: one.level, options(500))
                }
                #expect(report.answered == (bytes == answers[3] ? 1 : 0))
                #expect(report.named <= 500 && report.warming.fetched == 0)
                try await lying.value
            }
            #expect(fetches.withLock { $0 } == 0)
            #expect(cache.resident("real", at: .coarse)?.value == "v")
            liar.cache.tellNoMore(registration)
        }
    }

    @Test("a user for a cache may do all of it, and the server refuses nothing")
    func rights() async throws {
        let rules = AccessRules(for: [.cache], keyspaces: [keyspace])
        let directive = RedisServer.Directive(stringLiteral: "user cache on >pw \(rules)")
        try await RedisServer.withServer(.init(directives: [directive])) { server in
            let (one, two) = (
                try instance(server, "web-1/7", user: "cache"), try instance(server, "web-2/8", user: "cache")
            )
            for instance in [one, two] { try await instance.listen() }
            try await one.cache.set("v", for: "k")
            try await withMember(of: one) {
                let report = try await warmed(two, options())
                #expect(report.warming.found == 1)
            }
            let log = try await server.command("ACL", "LOG").text
            #expect(!log.contains("reason"), "\(log)")
        }
    }

    @Test("keys of a type of one's own are made by a closure, and refused without one")
    func ownKeys() async throws {
        struct Place: Hashable, KeyRepresentable {
            var row: Int
            var keyBytes: [UInt8] { Array("row \(row)".utf8) }
        }
        try await RedisServer.withServer { server in
            func level() throws -> RedisLevel<Place, String> {
                RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            }
            let (one, two) = (try level(), try level())
            let memory = MemoryLevel<Place, String>(limit: .entries(9))
            let cache = memory.compose(one)
            try await one.ready()
            try await two.ready()
            try await cache.set("v", for: Place(row: 3))
            let member = FleetMember()
            member.add(cache, of: one, memory: memory)
            let running = Task { await member.run() }
            let other = MemoryLevel<Place, String>(limit: .entries(9)).compose(two)
            let error = await #expect(throws: RedisError.self) { try await other.warm(fromInstancesOf: two) }
            #expect(error?.code == .invalidArgument)
            var report = FleetWarmingReport()
            while report.answered == 0 {
                report = try await other.warm(fromInstancesOf: two, options()) { bytes in
                    Int(String(decoding: bytes.dropFirst(4), as: UTF8.self)).map { Place(row: $0) }
                }
            }
            #expect(report.warming.found == 1 && other.resident(Place(row: 3), at: .coarse)?.value == "v")
            running.cancel()
            await running.value
        }
    }

    @Test("questions and answers keep within their bounds")
    func bounds() throws {
        let number = QuestionNumber()
        let instances = (0..<8).map { _ in QuestionNumber() }
        for count in [1, 8] {
            let question = FleetQuestion.hottest(77, of: Array(instances.prefix(count)))
            let read = try #require(FleetQuestion.read(question.message(number)))
            #expect(read.question == question && read.number == number)
            #expect(question.isMeant(for: instances[0]) && !question.isMeant(for: number))
        }
        #expect(FleetQuestion.key([1]).isMeant(for: number))
        let digits = number.text
        let one = instances[0].text
        for text in [
            "h", "h1", "h1:", "h:\(one)", "h-1:\(one)", "h1:\(one)0", "h1:\(one.uppercased())Z", "h1234567890:\(one)",
        ] {
            #expect(FleetQuestion.read(Array("q\(digits)\(text)".utf8)) == nil, "\(text)")
        }
        #expect(FleetQuestion.read(FleetQuestion.hottest(1, of: instances + [number]).message(number)) == nil)
        let most = FleetQuestion.hottest(99_999_999, of: [number])
        #expect(FleetQuestion.read(most.message(number))?.question == .hottest(HottestKeys.mostKeys, of: [number]))

        let long = HottestKeys((0..<5_000).map { _ in [UInt8](repeating: 7, count: 400) })
        #expect(long.bytes.count <= HottestKeys.longest && long.keys.count > 600)
        #expect(HottestKeys(long.bytes, most: 9_999)?.keys == long.keys)
        #expect(HottestKeys(long.bytes, most: 3)?.keys.count == 3)
        #expect(HottestKeys([[UInt8](repeating: 7, count: 513), [1]]).keys == [[1]])
        #expect(HottestKeys([], most: 9) == nil && HottestKeys([0x9f], most: 9) == nil)
        #expect(HottestKeys([UInt8](repeating: 0, count: HottestKeys.longest + 1), most: 9) == nil)
    }

    @Test("only so many of the long answers are given in a second, and by those who are meant alone")
    func rate() async throws {
        let number = QuestionNumber()
        let listener = FleetListener(of: number)
        let began = MonotonicInstant.now
        for _ in 0..<50 {
            listener.event(FleetQuestion.hottest(9, of: [number]).message(QuestionNumber()), nil)
            listener.event(FleetQuestion.hottest(9, of: [QuestionNumber()]).message(QuestionNumber()), nil)
        }
        for _ in 0..<50 { listener.event(FleetQuestion.key([7]).message(QuestionNumber()), nil) }
        listener.finish()
        // One may end in between, and more where this process stands still.
        let seconds = Int(began.duration(to: .now).components.seconds) + 2
        var (hottest, others) = (0, 0)
        for await (question, _) in listener.questions {
            if case .hottest(_, let meant) = question {
                #expect(meant == [number])
                hottest += 1
            } else {
                others += 1
            }
        }
        #expect((FleetListener.hottestRate...seconds * FleetListener.hottestRate).contains(hottest))
        #expect(hottest + others >= FleetListener.rate)
    }
}
