import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Several keys at once, through all levels", .timeLimit(.minutes(5)))
struct BatchFetchingTests {
    /// A source of several keys that takes down what it was asked for.
    final class Library: Sendable {
        struct Failure: Error, Equatable {}

        private let state = Locked((calls: [Set<String>](), failing: Set<String>(), isDown: false))
        let gate = AsyncGate()

        var calls: [Set<String>] { state.withLock { $0.calls } }

        func fail(_ keys: Set<String>) { state.withLock { $0.failing = keys } }

        func goDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

        func fetch(_ contexts: [String: FetchContext<String>]) async throws -> [String: FetchOutcome<String>] {
            let (failing, isDown) = state.withLock { state in
                state.calls.append(Set(contexts.keys))
                return (state.failing, state.isDown)
            }
            try await gate.pass()
            if isDown { throw Failure() }
            var answers: [String: FetchOutcome<String>] = ["nobody asked": .value("for this")]
            for key in contexts.keys where !key.hasPrefix("none") {
                answers[key] = failing.contains(key) ? .failure(Failure()) : .value("\(key)!")
            }
            return answers
        }
    }

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let library = Library()

    private func instance(
        of server: RedisServer,
        options: LeaseOptions = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
    ) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace)
            .fetchingSeveral(options) { [library] in try await library.fetch($1) }
    }

    @Test("one MGET, one round for the leases, one fetch of exactly what is missing; the order is that of the keys")
    func mixed() async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let level = try instance(of: server)
            let memory = MemoryLevel<String, String>(limit: .entries(100))
            let cache = memory.compose(level)
            try await memory.set("in memory", for: "a")
            try await level.set("in Redis", for: "b")
            let before = try await commands(server)
            let found = try await cache.get(["c", "a", "none", "b", "d", "c"])
            #expect(found == ["c!", "in memory", nil, "in Redis", "d!", "c!"])
            #expect(library.calls == [["c", "d", "none"]])
            let after = try await commands(server)
            #expect(after["mget", default: 0] - before["mget", default: 0] == 1)
            #expect(after["get", default: 0] - before["get", default: 0] <= 9, "only what scripts read")
            // All of it is kept, the absence too.
            #expect(try await cache.get(["c", "d", "none"]) == ["c!", "d!", nil])
            #expect(try await instance(of: server).get(["a", "b", "c", "d", "none"])[2...] == ["c!", "d!", nil])
            #expect(library.calls.count == 2, "only what was set in memory alone")
        }
    }

    private func commands(_ server: RedisServer) async throws -> [String: Int] {
        let text = try await server.command("INFO", "commandstats").text
        var counts: [String: Int] = [:]
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
            let parts = line.dropFirst("cmdstat_".count).split(separator: ":")
            let calls = parts.last?.split(separator: ",").first?.split(separator: "=").last
            if parts.count == 2, let calls { counts[String(parts[0])] = Int(calls) }
        }
        return counts
    }

    @Test("batches that overlap, in one process and in several, fetch no key twice")
    func overlapping() async throws {
        try await RedisServer.withServer { server in
            let fleet = try (0..<3).map { _ in try instance(of: server) }
            let keys = (0..<40).map { "k\($0)" }
            let reads = fleet.flatMap { level in
                (0..<8)
                    .map { start in
                        let part = Array(keys[(start * 4)..<(start * 4 + 12)])
                        return Task { () async throws -> [String?] in try await level.get(part) }
                    }
            }
            let singles = fleet.map { level in Task { try await level.get("k7") } }
            await library.gate.arrivals()
            library.gate.open()
            for (number, read) in reads.enumerated() {
                let start = number % 8 * 4
                let expected = keys[start..<(start + 12)].map { "\($0)!" }
                #expect(try await read.value == expected)
            }
            for single in singles { #expect(try await single.value == "k7!") }
            let asked = library.calls.flatMap { Array($0) }
            #expect(asked.count == 40)
            #expect(Set(asked).count == 40)
        }
    }

    @Test("two batches that want each other's keys do not wait for each other for ever")
    func crossing() async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let level = try instance(of: server)
            for round in 0..<50 {
                let keys = (0..<6).map { "r\(round)-\($0)" }
                async let one = level.get(keys)
                async let other = level.get(keys.reversed())
                async let third = level.get(Array(keys[2...]) + Array(keys[..<2]))
                #expect(try await one == keys.map { "\($0)!" })
                #expect(try await other == keys.reversed().map { "\($0)!" })
                #expect(try await third.count == 6)
            }
            #expect(library.calls.reduce(0) { $0 + $1.count } == 300)
        }
    }

    @Test("a key that fails fails alone; the batch fails only where failures are not left out")
    func partial() async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            library.fail(["b"])
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600), failureBackOff: nil)
            let level = try instance(of: server, options: options)
            #expect(try await level.batchGetSome(["a", "b", "c"]) == ["a!", "c!"])
            await #expect(throws: Library.Failure()) { try await level.get(["a", "b", "c"]) }
            library.goDown(true)
            await #expect(throws: Library.Failure()) { try await level.get(["x", "y"]) }
            #expect(try await level.batchGetSome(["a", "x", "y"]) == ["a!"])
            library.goDown(false)
            #expect(try await level.get(["x", "y"]) == ["x!", "y!"])
        }
    }

    @Test("nothing, one key, the same key over and over")
    func degenerate() async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let level = try instance(of: server)
            #expect(try await level.get([] as [String]) == [])
            #expect(try await level.get(["a"]) == ["a!"])
            #expect(try await level.get(Array(repeating: "b", count: 500)) == Array(repeating: "b!", count: 500))
            #expect(library.calls == [["a"], ["b"]])
        }
    }

    @Test("many keys come in pieces, none twice; a hundred thousand of them, too")
    func many() async throws {
        library.gate.open()
        try await RedisServer.withServer { server in
            let level = try instance(of: server)
            let keys = (0..<3_500).map { "k\($0)" }
            let found = try await level.get(keys)
            #expect(zip(keys, found).allSatisfy { $1 == "\($0)!" })
            #expect(library.calls.map(\.count) == [1000, 1000, 1000, 500])
        }
        let alone = RedisLevel<String, String>(try RedisClient("redis://127.0.0.1:1"), keyspace: keyspace)
            .fetchingSeveral { [library] in try await library.fetch($1) }
        let keys = (0..<100_000).map { "\($0)" }
        let found = try await alone.get(keys)
        #expect(zip(keys, found).allSatisfy { $1 == "\($0)!" })
        #expect(library.calls.count == 104)
        #expect(library.calls.reduce(0) { $0 + $1.count } == 103_500)
    }

    @Test("a cancelled caller cancels the fetch only when no other waits for one of its keys")
    func cancellation() async throws {
        try await RedisServer.withServer { server in
            let level = try instance(of: server)
            let first = Task { try await level.get(["a", "b"]) }
            await library.gate.arrivals()
            let second = Task { try await level.get(["b", "c"]) }
            while level.waiting < 4 { try await nextTurn() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            library.gate.open()
            #expect(try await second.value == ["b!", "c!"])
            #expect(try await level.get(["a", "b", "c"]) == ["a!", "b!", "c!"])
        }
    }

    @Test(
        "more keys than a connection takes calls have leases all the same, and are stored",
        arguments: [Coherence.none, .tracking]
    )
    func manyLeases(coherence: Coherence) async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let client = try TestServer.client(of: server) { $0.inFlightLimit = 64 }
            let level = RedisLevel<String, String>(client, keyspace: keyspace, coherence: coherence)
                .fetchingSeveral(LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))) { [library] in
                    try await library.fetch($1)
                }
            try await level.level.ready(within: .seconds(20))
            let keys = (0..<900).map { "k\($0)" }
            #expect(try await level.get(keys) == keys.map { "\($0)!" })
            #expect(library.calls.count == 1)
            #expect(level.level.statistics.uncoordinatedFetches == 0)
            // With a link, looks at the echoes of so many stores may fill the connection, and keep any number of them
            // from being stored.
            if coherence == .none { #expect(level.level.statistics.stores == 900) }
        }
    }

    @Test(
        "a caller that leaves keeps the leases of its keys for as long as they are fetched: no other instance fetches them",
        arguments: [true, false]
    )
    func leaving(isJoined: Bool) async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace)
                .fetchingSeveral(options) { [library] _, contexts in
                    // When no caller waits for it the fetch is cancelled, and takes its time to end.
                    try await Task { try await library.fetch(contexts) }.value
                }
            let first = Task { try await level.get(["a", "b"]) }
            await library.gate.arrivals()
            let second = isJoined ? Task { try await level.get("b") } : nil
            while level.waiting < (isJoined ? 3 : 2) { try await nextTurn() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let own = Library()
            own.gate.open()
            let other = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace)
                .fetchingSeveral { try await own.fetch($1) }
            let reading = Task { try await other.get("a") }
            while other.level.shared.waiters.awaiting(keyspace.names(for: "a".keyBytes).value.bytes).isEmpty,
                own.calls.isEmpty
            {
                try await nextTurn()
            }
            #expect(own.calls.isEmpty)
            library.gate.open()
            #expect(try await reading.value == "a!")
            #expect(try await second?.value != nil || !isJoined)
        }
    }

    @Test("without Redis the source answers, all keys by one call")
    func outage() async throws {
        library.gate.open()
        let level = RedisLevel<String, String>(try RedisClient("redis://127.0.0.1:1"), keyspace: keyspace)
            .fetchingSeveral { [library] in try await library.fetch($1) }
        #expect(try await level.get(["a", "b", "none"]) == ["a!", "b!", nil])
        #expect(library.calls == [["a", "b", "none"]])
    }

    @Test("keys that another instance was fetching when Redis went away are fetched alone, and under the limit")
    func limited() async throws {
        try await RedisServer.withServer { server in
            let keys = (0..<6).map { "k\($0)" }
            let holder = try instance(of: server)
            let leading = Task { try await holder.get(keys) }
            await library.gate.arrivals()
            let own = Library()
            let client = try TestServer.client(of: server)
            let other = RedisLevel<String, String>(client, keyspace: keyspace)
                .fetchingSeveral(LeaseOptions(fetchLimit: 2)) { try await own.fetch($1) }
            let batch = Task { try await other.get(keys) }
            let names = keys.map { keyspace.names(for: $0.keyBytes).value.bytes }
            while names.contains(where: { other.level.shared.waiters.awaiting($0).isEmpty }) { try await nextTurn() }
            try await server.kill()
            while own.calls.count < 2 { try await nextTurn() }
            // Time for more of them, if there were any.
            for _ in 0..<200 { try await nextTurn() }
            #expect(own.calls.count == 2)
            own.gate.open()
            library.gate.open()
            #expect(try await batch.value == keys.map { "\($0)!" })
            #expect(own.calls.count == 6)
            _ = try await leading.value
        }
    }

    @Test("a fetch begins when the source is asked: a batch that waits for room has fetched nothing, and loses no time")
    func waitingForRoom() async throws {
        let (clock, limiter, room) = (ManualClock(), FetchLimiter(limit: 1), AsyncGate())
        try await RedisServer.withServer { server in
            library.gate.open()
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600), limiter: limiter)
            let level = try clock.driving { try instance(of: server, options: options) }
            func fetches() -> [Int] {
                [level.level.statistics.fetches] + level.source.meter.counters.map(\.value)
            }
            let holder = Task { try await limiter.run { try await room.pass() } }
            await room.arrivals()
            let left = Task { try await level.get(["a", "b"]) }
            while limiter.waiting == 0 { try await nextTurn() }
            left.cancel()
            await #expect(throws: CancellationError.self) { try await left.value }
            while limiter.waiting > 0 { try await nextTurn() }
            #expect(fetches() == [0, 0, 0])
            let read = Task { try await level.entries(for: ["c", "d"], ReadRequest()) }
            while limiter.waiting == 0 { try await nextTurn() }
            try clock.advance(by: .seconds(5))
            room.open()
            let entries = try await read.value
            #expect(entries.map { $0?.value } == ["c!", "d!"])
            #expect(entries.compactMap { $0?.fetchDuration } == [.zero, .zero])
            // Nor is the wait for room a part of the values' age.
            let kept = try #require(try await level.level.entry(for: "c", ReadRequest()))
            #expect(kept.storedAt.duration(to: level.time.now) < .seconds(4))
            // One call, and a fetch of each key.
            #expect(library.calls == [["c", "d"]] && fetches() == [2, 2, 0])
            try await holder.value
        }
    }

    @Test("a remove during a batch: what was read before it is not kept")
    func removed() async throws {
        try await RedisServer.withServer { server in
            let level = try instance(of: server)
            let other = try instance(of: server)
            let read = Task { try await level.get(["a", "b"]) }
            await library.gate.arrivals()
            try await other.remove("a")
            library.gate.open()
            #expect(try await read.value == ["a!", "b!"])
            #expect(try await level.level.get("a") == nil)
            #expect(try await level.level.get("b") == "b!")
        }
    }
}
