import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Instances that lie, are silent or are many", .timeLimit(.minutes(5)))
struct FleetBoundsTests {
    private let keyspace: Keyspace = "things"

    /// Lists an instance with these bytes as its record.
    private func list(_ redis: RedisClient, _ number: String, _ record: [UInt8]?, end: String? = nil) async throws {
        let now = try await redis.time().saturatedNanoseconds / 1_000_000
        let words = ["HSET", keyspace.instances.description, number, end ?? String(now + 600_000)]
        _ = try await redis.send(words.map { Array($0.utf8) })
        if let record { try await redis.set(keyspace.record(of: number), record, expiringIn: .seconds(600)) }
    }

    private func record(_ name: String) -> InstanceRecord {
        InstanceRecord(name: name, uptime: .seconds(5), link: nil, label: LevelLabel("memory", counters: []))
    }

    @Test("a list that others have filled is read in bounds, and only what can be an instance")
    func hostileList() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let inspector = FleetInspector(redis, keyspace)
            try await list(redis, "0000000000000001", record("honest").bytes)
            try await list(redis, "0000000000000002", [UInt8](repeating: 0x61, count: 3 << 20))
            try await list(redis, "0000000000000003", Array("\u{1b}[2J no record".utf8))
            try await list(redis, "0000000000000004", nil)
            try await list(redis, "0000000000000005", record("over").bytes, end: "1")
            try await list(redis, "0000000000000006", record("odd").bytes, end: "-99999999999999999999")
            try await list(redis, "00000000000000zz", record("no number").bytes)
            try await list(redis, "x:v:{a}", record("no number").bytes)
            try await list(redis, String(repeating: "f", count: 1 << 20), nil)
            _ = try await redis.send("RPUSH", keyspace.record(of: "0000000000000007").description, "x")
            try await list(redis, "0000000000000007", nil)
            let listing = try await inspector.instances()
            let numbers = listing.instances.map(\.number.last)
            #expect(numbers == ["1", "2", "3", "4", "7"])
            let contents = listing.instances.map { instance in
                switch instance.content {
                case .record(let record): record.name
                case .missing: "missing"
                case .unusable: "unusable"
                }
            }
            #expect(contents == ["honest", "unusable", "unusable", "missing", "unusable"])
            // Another type under the name of the list is no list.
            try await redis.unlink([keyspace.instances])
            try await redis.set(keyspace.instances, [1])
            #expect(try await inspector.instances().instances.isEmpty)
        }
    }

    @Test("what a replica has answered is a hit")
    func replicaHits() {
        var record = record("one")
        record.levels = [.init(path: "fetching.redis", counters: ["hits": 1, "misses": 2, "replica_hits": 3])]
        #expect(InstanceFigures(record).reads.first?.reads == .init(hits: 4, misses: 2))
    }

    @Test("a breaker is open where one level says so, and half open where none says worse")
    func breakers() {
        var record = record("one")
        record.levels = [
            .init(path: "a", counters: ["breaker_read": 1, "breaker_write": 1, "breaker_lease": 0]),
            .init(path: "b", counters: ["breaker_read": 2, "breaker_write": 1]),
            .init(path: "c", counters: ["breaker_read": 1]),
        ]
        let figures = InstanceFigures(record)
        #expect(figures.openBreakers == ["read"] && figures.halfOpenBreakers == ["write"])
    }

    @Test("negative and huge counts become figures that can be added up")
    func hostileFigures() {
        var record = record("liar")
        record.levels = Array(
            repeating: .init(
                path: "composed.memory\u{1b}",
                counters: ["hits": .max, "misses": .min, "entries": .max, "limit": -5, "weight": .max, "fetches": .max]
            ),
            count: 64
        )
        record.uptime = .min
        let figures = InstanceFigures(record)
        #expect(figures.reads.count == 64 && figures.reads[0].reads.ratio == 1)
        #expect(figures.fetches == 64 << 48 && figures.limit == 0)
        // Of many instances, each with 64 levels of one name.
        var sum = InstanceFigures.Reads()
        for _ in 0..<100_000 { sum.add(figures.reads[0].reads) }
        #expect(sum.total > 0 && sum.ratio == 1)
        #expect(InstanceFigures(InstanceRecord(record.bytes) ?? record).fetches == figures.fetches)
    }

    @Test("bytes that are no record, of another form or too long are none")
    func records() throws {
        var other = record("later")
        other.form = 2
        #expect(InstanceRecord(other.bytes) == nil)
        #expect(InstanceRecord([]) == nil && InstanceRecord([0xff]) == nil)
        #expect(InstanceRecord([UInt8](repeating: 0x9f, count: 32 << 10)) == nil)
        // What does not fit is left out.
        let label = LevelLabel("composed", parts: (0..<2000).map { LevelLabel("level \($0)") })
        let keys = (0..<300).map { _ in String(repeating: "k", count: 500) }
        let long = InstanceRecord(name: "a", uptime: .zero, link: nil, label: label, hottest: keys)
        #expect(long.levels.count == 24 && long.bytes.count <= InstanceRecord.longest)
        let read = try #require(InstanceRecord(long.bytes))
        #expect(read.name == "a" && read.hottest == nil && read.levels.count == 24)
        #expect(KeyFinding(KeyFinding(.fresh).bytes) == KeyFinding(.fresh))
        #expect(KeyFinding([1, 2, 3]) == nil)
    }

    @Test("a thousand instances that never answer cost the time that was given, and no more are listed than asked for")
    func silent() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let now = try await redis.time().saturatedNanoseconds / 1_000_000
            var words = ["HSET", keyspace.instances.description]
            for number in 0..<1200 {
                let digits = String(number, radix: 16)
                let name = String(repeating: "0", count: 16 - digits.count) + digits
                words += [name, String(now + 600_000)]
                try await redis.set(keyspace.record(of: name), record("web-\(number)").bytes, expiringIn: .seconds(600))
            }
            _ = try await redis.send(words.map { Array($0.utf8) })
            let inspector = FleetInspector(redis, keyspace)
            let listing = try await inspector.instances(limit: 1000)
            #expect(listing.instances.count == 1000 && listing.more)
            let answers = try await inspector.find([1], in: listing.instances, within: .milliseconds(100))
            #expect(answers.count == 1000)
            let isSilent = answers.values.allSatisfy { if case .none = $0 { true } else { false } }
            #expect(isSilent)
        }
    }

    @Test("a list shrinks again, and is full at some time; each instance has a place as long as it comes")
    func register() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            func register(_ number: String, from cursor: String = "0") async throws -> (cursor: String, isListed: Bool)
            {
                let reply = try await redis.run(
                    FleetScripts.register,
                    keys: [keyspace.instances, keyspace.record(of: number)],
                    arguments: [number, "15000", cursor, "record"].map { Array($0.utf8) },
                    repetition: .once
                )
                return (reply.array?[0].string ?? "", reply.array?[1].integer == 1)
            }
            #expect(try await register("0000000000000001").isListed)
            let now = try await redis.time().saturatedNanoseconds / 1_000_000
            var words = ["HSET", keyspace.instances.description]
            for number in 0..<4200 { words += ["n\(number)", String(now + 1_000_000)] }
            _ = try await redis.send(words.map { Array($0.utf8) })
            #expect(try await register("0000000000000001").isListed)
            #expect(try await !register("0000000000000002").isListed)
            #expect(try await redis.exists(keyspace.record(of: "0000000000000002")) == 0)
            // What has passed, or makes no sense, goes by and by.
            var odd = ["HSET", keyspace.instances.description]
            for number in 0..<4200 {
                odd += ["n\(number)", ["1", "nan", "0x10", "1e99", "999999999999999"][number % 5]]
            }
            _ = try await redis.send(odd.map { Array($0.utf8) })
            var cursor = "0"
            for _ in 0..<500 where try await redis.count(of: "HLEN", .once, [keyspace.instances]) > 1 {
                cursor = try await register("0000000000000001", from: cursor).cursor
            }
            #expect(try await redis.count(of: "HLEN", .once, [keyspace.instances]) == 1)
            #expect(try await register("0000000000000002").isListed)
        }
    }

    @Test("a question is answered once, and only so many in a second")
    func rate() async throws {
        let listener = FleetListener(of: QuestionNumber())
        let question = FleetQuestion.key([7])
        let message = question.message(QuestionNumber())
        let began = MonotonicInstant.now
        for _ in 0..<3 { listener.event(message, nil) }
        listener.event(message, KeyspacePart.all[0])
        for _ in 0..<100 { listener.event(question.message(QuestionNumber()), nil) }
        let took = began.duration(to: .now)
        listener.finish()
        var heard: Set<QuestionNumber> = []
        for await (asked, number) in listener.questions {
            #expect(asked == question)
            #expect(heard.insert(number).inserted)
        }
        // On a busy machine a second may end meanwhile.
        let most = took < .milliseconds(900) ? FleetListener.rate : 2 * FleetListener.rate
        #expect((FleetListener.rate...most).contains(heard.count))
    }

    @Test("messages that are no question are none")
    func messages() {
        let number = QuestionNumber()
        for question in [FleetQuestion.key([]), .key([0, 255]), .figures(hottest: 0), .figures(hottest: 50)] {
            let read = FleetQuestion.read(question.message(number))
            #expect(read?.question == question && read?.number == number)
        }
        let digits = number.text
        for text in [
            "", "q", "q\(digits)", "q\(digits)x", "q\(digits.dropLast())kk", "q\(digits.uppercased())Gk",
            "q../../../../../.k",
            "q\(digits)f", "q\(digits)f-1", "q\(digits)f9999999999", "q\(digits)f1x", "i\(digits)k",
        ] {
            #expect(FleetQuestion.read(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(FleetQuestion.read(FleetQuestion.key([UInt8](repeating: 1, count: 4097)).message(number)) == nil)
        #expect(FleetQuestion.read(Array("q\(digits)f1000".utf8))?.question == .figures(hottest: 50))
    }

    @Test("a wish that keys be read is that of one instance, and bounded")
    func warming() async {
        let (own, other) = (QuestionNumber(), QuestionNumber())
        let keys: [[UInt8]] = [[], [0, 255], [UInt8](repeating: 1, count: 512)]
        let question = FleetQuestion.warm(WarmQuestion(own, keys))
        let message = question.message(QuestionNumber())
        #expect(FleetQuestion.read(message)?.question == question)
        // What is cut anywhere, too long or too much is no question, and no crash.
        for length in 0..<message.count {
            let read = FleetQuestion.read(Array(message.prefix(length)))?.question
            if case .warm(let part) = read { #expect(keys.starts(with: part.keys)) } else { #expect(read == nil) }
        }
        let long = WarmQuestion(own, [[UInt8](repeating: 1, count: 513)])
        let many = WarmQuestion(own, Array(repeating: [1], count: 33))
        for wrong in [long, many, WarmQuestion(own, [])] {
            #expect(FleetQuestion.read(FleetQuestion.warm(wrong).message(QuestionNumber())) == nil)
        }
        // Those that others are asked do not use up the questions of a second.
        let listener = FleetListener(of: own)
        for _ in 0..<100 {
            listener.event(FleetQuestion.warm(WarmQuestion(other, [[1]])).message(QuestionNumber()), nil)
        }
        listener.event(message, nil)
        listener.finish()
        var heard: [FleetQuestion] = []
        for await (asked, _) in listener.questions { heard.append(asked) }
        #expect(heard == [question])
        // Answers of others may say anything.
        let answer = WarmAnswer([.fetched, .absent])
        #expect(WarmAnswer(answer.bytes, keys: 2) == answer && WarmAnswer(answer.bytes, keys: 3) == nil)
        #expect(WarmAnswer([1, 2, 3], keys: 1) == nil)
        var later = answer
        later.keys[0] = "something new"
        #expect(WarmAnswer(later.bytes, keys: 2)?.outcomes == [nil, .absent])
    }

    @Test("keys are read one question at a time, no faster than is allowed, and eight at once")
    func warmer() async throws {
        let gate = AsyncGate()
        let running = Locked((now: 0, most: 0))
        let warmer = KeyWarmer(rate: 1000) { key in
            running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
            }
            try? await gate.pass()
            running.withLock { $0.now -= 1 }
            return key == [0] ? .failed : .fetched
        }
        let first = Task { await warmer.warm((0..<20).map { [$0] }) }
        await gate.arrivals(8)
        #expect(await warmer.warm([[1], [2]]).outcomes == [.busy, .busy])
        gate.open()
        let outcomes = await first.value.outcomes
        #expect(outcomes == [.failed] + Array(repeating: .fetched, count: 19))
        #expect(running.withLock { $0.most } == 8)
        // It is free again.
        #expect(await warmer.warm([[1]]).outcomes == [.fetched])
        #expect(await KeyWarmer(rate: 0) { _ in .fetched }.warm([[1]]).outcomes == [.refused])
        // A read begins a fifth of a second after the other: what is slower only makes it take longer.
        let start = MonotonicInstant.now
        let instants = Locked<[MonotonicInstant]>([])
        let slow = KeyWarmer(rate: 5) { _ in
            instants.withLock { $0.append(.now) }
            return .found
        }
        #expect(await slow.warm([[1], [2], [3]]).outcomes == [.found, .found, .found])
        for (number, instant) in instants.withLock({ $0 }).enumerated() {
            #expect(start.duration(to: instant) >= .milliseconds(200) * number)
        }
        // Nor by several questions of one key.
        for _ in 0..<2 { #expect(await slow.warm([[4]]).outcomes == [.found]) }
        #expect(start.duration(to: .now) >= .milliseconds(800))
    }

    @Test("percentiles are at most an eighth too high, and forget what is long ago")
    func durations() throws {
        let start = MonotonicInstant(nanoseconds: 1)
        var window = DurationWindow(at: start)
        let nothing = window.durations(at: start)
        #expect(nothing == nil)
        for microseconds in 1...1000 { window.add(Int64(microseconds) * 1000, at: start) }
        window.add(-5, at: start)
        window.add(.max, at: start)
        let all = window.durations(at: start)
        let found = try #require(all)
        #expect(found.count == 1002)
        #expect((500...563).contains(found.median) && (950...1070).contains(found.p95))
        let later = window.durations(at: start.advanced(by: .seconds(16)))
        #expect(later?.count == 1002)
        let forgotten = window.durations(at: start.advanced(by: .seconds(32)))
        #expect(forgotten == nil)
    }
}
