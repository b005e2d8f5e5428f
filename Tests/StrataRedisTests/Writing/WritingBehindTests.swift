import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

#if ServiceLifecycle
import ServiceLifecycleTestKit
#endif

@Suite("Writing behind, above Redis", .timeLimit(.minutes(5)))
struct RedisWritingBehindTests {
    let name: String
    let keyspace: Keyspace
    let source = WrittenSource<[Int]>(["k": [1]])
    let lost = LostWrites<[Int]>()

    init() {
        name = TestServer.uniqueName()
        keyspace = Keyspace(name)
    }

    static var patient: WriteBehindOptions {
        WriteBehindOptions(
            delay: .zero,
            waitLimit: .seconds(60),
            timeout: .seconds(100),
            backOff: .milliseconds(1) ... .milliseconds(5),
            givenUpAfter: .seconds(100)
        )
    }

    func writer<Base: AtomicLevel<String, [Int]>>(
        to level: Base,
        _ adjust: (inout WriteBehindOptions) -> Void = { _ in }
    ) -> WritingBehind<Base> {
        var options = Self.patient
        adjust(&options)
        return level.writingBehind(options) { [lost] in
            lost.add($0)
        } write: { [source] key, value in
            try await source.write(key, value)
        }
    }

    /// An instance that fetches from the source, with memory above.
    typealias Reader = Composed<MemoryLevel<String, [Int]>, FetchingLevel<String, [Int]>>

    func reader(_ instance: ListInstance) -> Reader {
        let source = source
        return instance.memory
            .compose(
                instance.level
                    .fetching(LeaseOptions(duration: .seconds(60))) { (key: String) in try await source.read(key) }
            )
    }

    /// Two instances that write behind, and read from the source what Redis has not got.
    func withTwo(
        _ body: (Instance, Instance, RedisServer) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            try await body(
                Instance(one, writer(to: reader(one))),
                Instance(other, writer(to: reader(other))),
                server
            )
        }
    }

    struct Instance {
        let list: ListInstance
        let cache: WritingBehind<Reader>

        init(_ list: ListInstance, _ cache: WritingBehind<Reader>) {
            self.list = list
            self.cache = cache
        }

        /// What is read past memory; nothing is fetched.
        func stored(_ key: String = "k") async throws -> [Int]? { try await list.level.get(key) }

        func forgets(_ key: String = "k") async throws {
            while list.remembers(key) != nil { try await nextTurn() }
        }
    }

    /// Sets a value whose write is held.
    func setHeld(_ value: [Int], by instance: Instance, after: Bool = false) async throws -> AsyncGate {
        let gate = AsyncGate()
        source.holdNextWrite(before: after ? nil : gate, after: after ? gate : nil)
        try await instance.cache.set(value, for: "k")
        await gate.arrivals()
        return gate
    }

    @Test("all instances read what is pending; the source gets it later")
    func verbs() async throws {
        try await withTwo { one, other, _ in
            #expect(try await other.cache.get("k") == [1])
            let gate = try await setHeld([2], by: one)
            try await other.forgets()
            #expect(try await other.cache.get("k") == [2])
            #expect(source.values == ["k": [1]])
            gate.open()
            try await one.cache.flush()
            #expect(source.values == ["k": [2]] && source.reads == 1)
            for instance in [one, other] { #expect(try await instance.cache.get("k") == [2]) }
            let next = AsyncGate()
            source.holdNextWrite(before: next)
            try await one.cache.delete("k")
            await next.arrivals()
            try await other.forgets()
            #expect(try await other.cache.get("k") == nil)
            #expect(source.values == ["k": [2]] && source.reads == 1)
            next.open()
            try await one.cache.flush()
            #expect(source.values.isEmpty)
            #expect(try await other.cache.get("k") == nil)
            #expect(one.cache.statistics.written == 2 && lost.isEmpty)
        }
    }

    @Test("what another instance has fetched while Redis had lost the value is forgotten when the source is written")
    func evicted() async throws {
        try await withTwo { one, other, server in
            let gate = try await setHeld([2], by: one)
            let names = one.list.level.names(for: "k")
            try await one.list.redis.delete(names.value)
            // Not prevented: Redis has nothing, and the source has the old value.
            while try await other.cache.get("k") != [1] { try await nextTurn() }
            // This process does not take it for newer.
            #expect(try await one.cache.get("k") == [2])
            #expect(try await one.stored() == [1])
            #expect(one.list.remembers("k") == nil)
            gate.open()
            try await one.cache.flush()
            #expect(source.values == ["k": [2]])
            #expect(try await one.stored() == nil)
            try await other.forgets()
            #expect(try await other.cache.get("k") == [2])
        }
    }

    @Test(
        "a fetch that has asked the source before it was written stores nothing afterwards",
        arguments: [false, true]
    )
    func fetching(isLost: Bool) async throws {
        try await withTwo { one, other, _ in
            let gate = try await setHeld([2], by: one)
            let names = one.list.level.names(for: "k")
            if isLost { try await one.list.redis.delete(names.value) }
            let reads = AsyncGate()
            source.holdReads(reads)
            let read = Task { try await other.cache.base.get("k", .reload) }
            await reads.arrivals()
            gate.open()
            try await one.cache.flush()
            source.holdReads(nil)
            reads.open()
            #expect(try await read.value == [1])
            #expect([nil, [2]].contains(try await one.stored()))
            while try await other.cache.get("k") != [2] { try await nextTurn() }
            #expect(try await other.stored() == [2])
        }
    }

    @Test("what a fetch has brought into the place of a pending value is not taken for a later one")
    func fetchedIsNotLater() async throws {
        try await withTwo { one, other, _ in
            let first = writer(to: one.cache.base) { $0.delay = .seconds(600) }
            try await first.set([2], for: "k")
            try await other.cache.remove("k")
            #expect(try await other.cache.get("k") == [1])
            try await first.flush()
            #expect(source.values == ["k": [2]] && first.statistics.adopted == 0)
            try await other.forgets()
            #expect(try await other.cache.get("k") == [2])
        }
    }

    @Test(
        "what is given up goes from the cache of all instances; another's later value stays",
        arguments: [false, true]
    )
    func givenUp(isOvertaken: Bool) async throws {
        try await withTwo { one, other, _ in
            let first = writer(to: one.cache.base) { $0.isTransient = { _ in false } }
            source.fail(.before)
            let gate = AsyncGate()
            source.holdNextWrite(before: gate)
            try await first.set([2], for: "k")
            await gate.arrivals()
            #expect(try await other.cache.get("k") == [2])
            var held: AsyncGate?
            if isOvertaken { held = try await setHeld([3], by: other) }
            gate.open()
            while lost.isEmpty { try await nextTurn() }
            #expect(try await one.stored() == (isOvertaken ? [3] : nil))
            if !isOvertaken { try await other.forgets() }
            source.fail(nil)
            held?.open()
            try await other.cache.flush()
            #expect(try await other.cache.get("k") == (isOvertaken ? [3] : [1]))
        }
    }

    @Test("the script leaves late writes of others alone, and ends what may have asked before")
    func script() async throws {
        try await withTwo { one, other, _ in
            let level = one.list.level
            let names = level.names(for: "k")
            func late(_ value: [Int]) async throws -> EntryVersion {
                var entry = Entry(value: value)
                (entry.version, entry.hasNewVersion) = (.late(), true)
                _ = try await level.commit(entry, for: "k")
                return entry.version
            }
            func lease() async throws { try await one.list.redis.set(names.lease, Array("T0123456789abcdefme".utf8)) }
            // As docs/internals/wire-format.md has it.
            #expect(EntryVersion.lateBytes == [0x03, 0x6f, 0xb8, 0xc4, 0xe1, 0x27, 0x5d, 0x9a])
            let first = try await late([2])
            #expect(
                first.bytes.starts(with: EntryVersion.lateBytes) && first != .late() && !EntryVersion.random().isLate
            )
            try await lease()
            #expect(try await level.settle("k", LateWrite(first, .looks)) == .stands)
            #expect(try await one.list.redis.exists(names.lease) == 1)
            #expect(try await level.settle("k", LateWrite(first, .settles)) == .stands)
            #expect(try await one.list.redis.exists(names.lease) == 0)
            #expect(try await level.get("k") == [2])
            let second = try await late([3])
            for step in [LateWrite.Step.looks, .settles, .forgets] {
                #expect(try await level.settle("k", LateWrite(first, step)) == .overtaken)
            }
            #expect(try await level.get("k") == [3])
            #expect(try await level.settle("k", LateWrite(second, .forgets)) == .gone)
            #expect(try await level.get("k") == nil)
            try await level.set([4], for: "k")
            try await lease()
            #expect(try await level.settle("k", LateWrite(second, .looks)) == .gone)
            #expect(try await level.get("k") == [4])
            #expect(try await level.settle("k", LateWrite(second, .settles)) == .gone)
            #expect(try await level.get("k") == nil)
            #expect(try await one.list.redis.exists(names.lease) == 0)
            // What is no text is neither.
            _ = try await one.list.redis.send([Array("RPUSH".utf8), names.value.bytes, Array("x".utf8)])
            #expect(try await level.settle("k", LateWrite(second, .looks)) == .gone)
            #expect(try await level.settle("k", LateWrite(second, .settles)) == .gone)
            #expect(try await one.list.redis.exists(names.value) == 0)
        }
    }

    @Test("two instances that write the same keys over a source that fails and dawdles: all agree in the end")
    func converges() async throws {
        try await withTwo { one, other, _ in
            var random = SplitMix64.announced()
            let seeds = (0..<6).map { _ in random.next() }
            let dice = Dice(seed: random.next())
            let source = WrittenSource<[Int]>()
            let write: @Sendable (String, [Int]?) async throws -> Void = { key, value in
                let (turns, fault) = (dice.roll(0..<40), dice.roll(0..<8))
                for _ in 0..<turns { await Task.yield() }
                if fault == 0 { throw WrittenSource<[Int]>.Failure() }
                try await source.write(key, value)
                // A failure after the write, or an answer that takes its time.
                for _ in 0..<turns { await Task.yield() }
                if fault == 1 { throw WrittenSource<[Int]>.Failure() }
            }
            let caches = [one, other]
                .map { instance in
                    instance.cache.base.writingBehind(Self.patient) { _ in
                        Issue.record("nothing is given up")
                    } write: {
                        try await write($0, $1)
                    }
                }
            try await withThrowingTaskGroup { group in
                for (task, seed) in seeds.enumerated() {
                    group.addTask {
                        var random = SplitMix64(seed: seed)
                        for step in 0..<80 {
                            let key = "k\(Int.random(in: 0..<4, using: &random))"
                            try await caches[task % 2].set([task, step], for: key)
                            if Int.random(in: 0..<5, using: &random) == 0 { _ = try await caches[task % 2].get(key) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for _ in 0..<2 { for cache in caches { try await cache.flush() } }
            for key in (0..<4).map({ "k\($0)" }) {
                let stored = try await one.stored(key)
                #expect(stored != nil && source.values[key] == stored)
                for instance in [one, other] {
                    while let memory = instance.list.remembers(key), memory != stored { try await nextTurn() }
                }
            }
            print("coalesced and adopted:", caches.map { ($0.statistics.coalesced, $0.statistics.adopted) })
        }
    }

    @Test("on a cluster, with keys at each primary")
    func cluster() async throws {
        let cluster = try await TestCluster.shared()
        let clients = try (0..<2).map { _ in try TestCluster.client(of: cluster) }
        let source = source
        let caches = clients.map { client in
            writer(
                to: MemoryLevel<String, [Int]>(limit: .entries(100))
                    .compose(
                        RedisLevel<String, [Int]>(client, keyspace: keyspace)
                            .fetching { (key: String) in try await source.read(key) }
                    )
            )
        }
        for (index, key) in (0..<40).map({ "key \($0)" }).enumerated() {
            try await caches[index % 2].set([index], for: key)
        }
        for cache in caches { try await cache.flush() }
        for (index, key) in (0..<40).map({ "key \($0)" }).enumerated() {
            #expect(source.values[key] == [index])
            #expect(try await caches[(index + 1) % 2].get(key) == [index])
        }
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await caches[0].set([100], for: "key 7")
        await gate.arrivals()
        try await caches[1].remove("key 7")
        #expect(try await caches[1].get("key 7") == [7])
        gate.open()
        try await caches[0].flush()
        while try await caches[1].get("key 7") != [100] { try await nextTurn() }
        for client in clients { await client.shutDown() }
    }

    @Test("is a level like any other, when nothing is pending")
    func conforms() async throws {
        let redis = try await TestServer.client()
        let suite = CacheLevelConformance(abilities: [.absences, .tags]) {
            let level = MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(RedisLevel(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")), codec: .cbor))
                .writingBehind(lost: { _ in }, write: { _, _ in })
            await level.drain(within: .zero)
            return level
        }
        for finding in await suite.run() { Issue.record("\(finding)") }
    }
}
