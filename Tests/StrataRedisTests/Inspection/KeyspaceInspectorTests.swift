import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A keyspace looked at from outside", .timeLimit(.minutes(5)))
struct KeyspaceInspectorTests {
    @Test("an entry that a level has written is fresh, stale, expired by the server's clock")
    func entry() async throws {
        try await InspectedCache.with { cache in
            let level = RedisLevel<String, [Int]>(cache.redis, keyspace: cache.keyspace())
            var entry = Entry<[Int]>(value: [1, 2])
            entry.tags = ["red"]
            try await level.store(entry, for: "a")
            let key = InspectedKey(Array("a".utf8), in: cache.keyspace())
            let found = try #require(try await cache.inspector().entry(of: key))
            guard case .envelope(let envelope) = found.content else {
                Issue.record("no envelope")
                return
            }
            #expect(found.state == .fresh)
            #expect(envelope.fault == nil)
            #expect(envelope.payload == Array("[1,2]".utf8))
            #expect(envelope.tags == ["red"])
            let header = try #require(envelope.header)
            // The writer's idea of the server's clock may be off by half of a slow round trip.
            #expect((header.storedAt - 60_000...header.freshUntil).contains(found.serverTime))

            // The same entry as it would have been seen later.
            func state(at time: Int64) -> EntryInspection.State {
                EntryInspection(
                    key: key,
                    content: found.content,
                    invalidation: nil,
                    timeToLive: .unlimited,
                    serverTime: time
                )
                .state
            }
            #expect(state(at: header.freshUntil) == (header.freshUntil < header.staleUntil ? .stale : .expired))
            #expect(state(at: header.staleUntil) == .expired)
        }
    }

    @Test("nothing, another type and a value above the limit are told apart")
    func oddEntries() async throws {
        try await InspectedCache.with {
            $0.replyLimits.bulkLength = 128 << 10
        } _: { cache in
            let inspector = cache.inspector()
            func key(_ text: String) -> InspectedKey { InspectedKey(Array(text.utf8), in: cache.keyspace()) }
            #expect(try await inspector.entry(of: key("nothing")) == nil)

            _ = try await cache.redis.send([Array("HSET".utf8), key("hash").name.bytes, [1], [2]])
            let hash = try #require(try await inspector.entry(of: key("hash")))
            #expect(hash.state == .unusable)
            guard case .otherType("hash") = hash.content else {
                Issue.record("\(hash.content)")
                return
            }

            // Written by a client with a higher limit.
            let level = RedisLevel<String, [UInt8]>(
                try await TestServer.client(),
                keyspace: cache.keyspace(),
                codec: .bytes
            )
            try await level.set(Array(repeating: 5, count: 200 << 10), for: "large")
            let large = try #require(try await inspector.entry(of: key("large")))
            guard case .envelope(let envelope) = large.content else {
                Issue.record("no envelope")
                return
            }
            #expect(large.state == .fresh)
            #expect(envelope.size == 200 << 10 + 86)
            #expect(envelope.checksum == .notChecked)
            #expect(envelope.belongsToKey == true)
            #expect(envelope.payload.count == 65_535)
        }
    }

    @Test("keys are listed once each, by pattern or all, also hashed and irregular ones")
    func keys() async throws {
        try await InspectedCache.with { cache in
            let level = RedisLevel<[UInt8], String>(cache.redis, keyspace: cache.keyspace(), codec: .text)
            let plain = (0..<1500).map { Array("key:\($0)".utf8) }
            let odd: [[UInt8]] = [[0], [0xff], Array("a{b}%".utf8), Array("*?[".utf8), Array("é".utf8), [0x1b, 0x5b]]
            let long = Array(repeating: UInt8(ascii: "k"), count: 2000)
            for key in plain + odd + [long, []] { try await level.set("v", for: key) }
            try await cache.redis.set(RedisKey("\(cache.prefix):things:v:oops"), [1])
            try await cache.redis.set(RedisKey("\(cache.prefix):thingsx:v:{other}"), [1])
            try await cache.redis.set(RedisKey("\(cache.prefix):things:l:{leased}"), [1])

            let all = try await list(cache.inspector().keys())
            #expect(all.count == Set(all).count)
            #expect(Set(all.compactMap(\.userKey)) == Set(plain + odd))
            #expect(all.count { $0.form == .hashed } == 2)
            #expect(all.count { $0.form == .irregular } == 1)

            for (pattern, expected) in [
                ("key:14?", (140...149).map { Array("key:\($0)".utf8) }), ("a{b}*", [odd[2]]), ("\\*\\?\\[", [odd[3]]),
                ("nothing*", []),
            ] {
                let glob = try #require(GlobPattern(Array(pattern.utf8)))
                let found = try await list(cache.inspector().keys(matching: glob))
                #expect(Set(found.compactMap(\.userKey)) == Set(expected), "\(pattern)")
                #expect(found.count == expected.count)
            }
        }
    }

    private func list(_ listing: KeyListing) async throws -> [InspectedKey] {
        var keys: [InspectedKey] = []
        for try await batch in listing { keys += batch }
        return keys
    }

    @Test("leases show their holder and how long they stand, up to a limit")
    func leases() async throws {
        try await InspectedCache.with { cache in
            let inspector = cache.inspector()
            #expect(try await inspector.leases().leases.isEmpty)
            let keys = (0..<5).map { InspectedKey(Array("k\($0)".utf8), in: cache.keyspace()) }
            for (number, key) in keys.enumerated() {
                let answer = try await Lease.readOrLead(
                    cache.redis,
                    cache.keyspace(),
                    key.names,
                    duration: .seconds(100),
                    replacing: nil
                )
                guard case .leads(let lease, _) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                let found = try await inspector.leases()
                #expect(found.leases.count == number + 1)
                let own = try #require(found.leases.first { $0.key == key })
                #expect(own.token?.count == 16)
                #expect(own.holder == cache.redis.configuration.instanceName)
                #expect(lease.names == key.names)
                guard case .remaining(let left) = own.timeLeft else {
                    Issue.record("\(own.timeLeft)")
                    return
                }
                #expect(left > .zero && left <= .seconds(100))
                #expect(try await inspector.lifetimes(of: key).lease != .absent)
                #expect(try await inspector.lifetimes(of: key).value == .absent)
            }
            _ = try await cache.redis.send([Array("LPUSH".utf8), Array("\(cache.prefix):things:l:{list}".utf8), [1]])
            let all = try await inspector.leases()
            #expect(all.leases.count == 6 && !all.more)
            #expect(all.leases.count { $0.token == nil } == 1)
            let some = try await inspector.leases(limit: 2)
            #expect(some.leases.count == 2 && some.more)
        }
    }

    @Test("a removal voids a fetch under way: what it found is not stored")
    func removal() async throws {
        try await InspectedCache.with { cache in
            let key = InspectedKey(Array("a".utf8), in: cache.keyspace())
            let level = RedisLevel<String, String>(cache.redis, keyspace: cache.keyspace(), codec: .text)
            let (begun, began) = AsyncStream<Void>.makeStream()
            let (released, release) = AsyncStream<Void>.makeStream()
            let fetching = level.fetching(.lasting) { _ in
                began.finish()
                for await _ in released {}
                return "old"
            }
            async let value = fetching.get("a")
            for await _ in begun {}
            let before = try await cache.inspector().presence(of: [key])
            #expect(before == [KeyPresence(key: key, value: false, lease: true)])
            #expect(try await cache.inspector().remove([key]) == 1)
            release.finish()
            #expect(try await value == "old")
            #expect(level.statistics.refusedStores == 1)
            #expect(try await level.get("a") == nil)
        }
    }

    @Test("a clear takes the keyspace, with what is irregular in it, and nothing else")
    func clear() async throws {
        try await InspectedCache.with { cache in
            let others = [
                "\(cache.prefix):thingsx:v:{a}", "\(cache.prefix):thing:v:{a}", "\(cache.prefix):t*:v:{a}",
                "\(cache.prefix):things", "\(cache.prefix):things:ev", "\(cache.prefix):things:x:{a}",
                "\(cache.prefix)things:v:{a}", "\(cache.prefix):Things:v:{a}",
            ]
            for name in others { try await cache.redis.set(RedisKey(name), [1]) }
            for number in 0..<1200 {
                try await cache.redis.set(RedisKey("\(cache.prefix):things:v:{\(number)}"), [1])
            }
            try await cache.redis.set(RedisKey("\(cache.prefix):things:v:irregular"), [1])
            try await cache.redis.set(RedisKey("\(cache.prefix):things:l:{a}"), [1])
            #expect(try await cache.inspector().counts() == KeyspaceCounts(values: 1201, leases: 1))

            var reports: [KeyspaceCounts] = []
            let removed = try await cache.inspector().clear { reports.append($0) }
            #expect(removed == KeyspaceCounts(values: 1201, leases: 1))
            #expect(reports.last == removed)
            #expect(reports.first == KeyspaceCounts(values: 0, leases: 1))
            #expect(try await cache.allNames() == Set(others))
        }
    }

    @Test("a clear of a keyspace whose name is a pattern takes that keyspace alone")
    func clearOfPattern() async throws {
        try await InspectedCache.with { cache in
            for name in ["*", "a", "[a-z]", "?"] {
                try await cache.redis.set(RedisKey("\(cache.prefix):\(name):v:{1}"), [1])
            }
            #expect(try await cache.inspector("*").clear().values == 1)
            #expect(try await cache.inspector("[a-z]").clear().values == 1)
            #expect(try await cache.allNames() == ["\(cache.prefix):a:v:{1}", "\(cache.prefix):?:v:{1}"])
        }
    }

    @Test("a survey finds the keyspaces of one prefix or of all, with counts and sizes")
    func survey() async throws {
        try await InspectedCache.with { cache in
            for number in 0..<700 {
                try await cache.redis.set(
                    RedisKey("\(cache.prefix):one:v:{\(number)}"),
                    Array(repeating: 1, count: 100)
                )
            }
            try await cache.redis.set(RedisKey("\(cache.prefix):one:l:{a}"), [1])
            try await cache.redis.set(RedisKey("\(cache.prefix):t%3Awo:v:{a}"), [1, 2, 3])
            _ = try await cache.redis.send([Array("HSET".utf8), Array("\(cache.prefix):t%3Awo:v:{h}".utf8), [1], [2]])
            for name in [
                "\(cache.prefix):none", "\(cache.prefix):none:v:", "\(cache.prefix):none:v:a",
                "\(cache.prefix):none:w:{a}",
                "\(cache.prefix):no%ne:v:{a}", "\(cache.prefix):n%41ne:v:{a}", "\(cache.prefix):n{}ne:v:{a}",
            ] { try await cache.redis.set(RedisKey(name), [1]) }

            let survey = try await KeyspaceSurvey.take(cache.redis, prefix: cache.prefix)
            #expect(survey.rows.map(\.keyspace) == [cache.keyspace("one"), cache.keyspace("t:wo")])
            #expect(survey.keysPassedOver == 0)
            let one = try #require(survey.rows.first)
            #expect(one.counts == KeyspaceCounts(values: 700, leases: 1))
            #expect(one.sampledValues == 64 && one.sampledBytes == 6400)
            #expect(one.estimatedBytes == 70_000)
            let two = try #require(survey.rows.last)
            #expect(two.counts == KeyspaceCounts(values: 2, leases: 0))
            #expect(two.sampledValues == 1 && two.sampledBytes == 3)

            let measured = try await KeyspaceSurvey.take(cache.redis, prefix: cache.prefix, withMemory: true)
            var memory = 0
            for name in ["a", "h"] {
                memory += try await cache.redis.memory(of: RedisKey("\(cache.prefix):t%3Awo:v:{\(name)}")) ?? 0
            }
            #expect(measured.rows.last?.estimatedMemory == memory)

            let all = try await KeyspaceSurvey.take(cache.redis, prefix: nil, samples: 0)
            #expect(all.rows.filter { $0.keyspace.prefix == cache.prefix }.count == 2)
            #expect(all.rows.allSatisfy { $0.estimatedBytes == nil })

            let few = try await KeyspaceSurvey.take(cache.redis, prefix: cache.prefix, limit: 1)
            #expect(few.rows.count == 1)
            #expect(few.keysPassedOver + (few.rows.first.map { $0.counts.values + $0.counts.leases } ?? 0) == 703)
        }
    }

    @Test("a server's report has its version and as many round trips as asked for")
    func report() async throws {
        try await InspectedCache.with { cache in
            let report = try await ServerReport.take(cache.redis, samples: 3)
            #expect(report.roundTrips.count == 3)
            #expect(report.version?.isEmpty == false)
            #expect(["redis", "valkey"].contains(report.product))
        }
    }
}
