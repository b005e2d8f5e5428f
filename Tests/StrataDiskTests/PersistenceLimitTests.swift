#if Disk
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("Providers over a disk with a limit", .timeLimit(.minutes(5)))
struct PersistenceLimitTests {
    private static let policy = FreshnessPolicy(freshFor: .seconds(300), jitter: 0, earlyRefresh: 0)
    private let folder: DiskFolder
    private let hand = HandClock()

    init() throws {
        folder = try DiskFolder()
    }

    /// A cache as `ProviderCache(store, namespace:)` makes it, with a clock that is set by hand.
    private func place(
        _ limit: Int = 100_000,
        _ store: DiskStore? = nil
    ) -> (cache: ProviderCache, disk: DiskLevel<ProviderRecord.Key, ProviderRecord>) {
        var disk = DiskLevel<ProviderRecord.Key, ProviderRecord>(
            space: DiskSpace(store: store ?? folder.store(), name: "records", limit: limit, whenFull: .sweep),
            codec: .records,
            freshness: Self.policy,
            undecodable: .miss
        )
        disk.wall = hand.clock
        let source = Source<ProviderRecord.Key, ProviderRecord>.perCall(freshness: Self.policy, failureBackOff: nil)
        // A read waits for the disk however long that takes on a busy machine.
        let cache = ProviderCache(disk, memory: .entries(10_000), over: source, fillWaitLimit: .seconds(60))
        return (cache, disk)
    }

    /// A record of about a thousand bytes, which ends some time or never.
    private func record(_ number: Int, ends: Bool = true) -> Provider<[UInt8]> {
        Provider("bytes", key: .key(number), lifetime: ends ? .byPolicy : .unlimited)
    }

    private static let value = [UInt8](repeating: 7, count: 400)

    /// Which of the records a cache without anything in memory finds.
    private func persisted(_ numbers: Range<Int>, _ limit: Int = 100_000) async throws -> [Int] {
        let fresh = place(limit).cache
        var found: [Int] = []
        for number in numbers where try await fresh.value(of: record(number)) != nil { found.append(number) }
        return found
    }

    private func waitForSweep(_ disk: DiskLevel<ProviderRecord.Key, ProviderRecord>) async {
        await disk.drain(within: .seconds(60))
    }

    /// What one record takes.
    private func size() async throws -> Int {
        let (cache, disk) = place(1 << 20)
        try await cache.set(Self.value, for: record(1_000_000))
        let bytes = try await disk.usage().bytes
        try await cache.clear()
        return bytes
    }

    @Test("in a file that may not grow any more records stay in memory, and no set fails")
    func fullFile() async throws {
        let (cache, disk) = place(1 << 30, folder.store(DiskOptions(lockTimeout: .seconds(60), fileLimit: 240 << 10)))
        for number in 0..<400 { try await cache.set(Self.value, for: record(number, ends: false)) }
        for number in [0, 399] { #expect(try await cache.value(of: record(number, ends: false)) == Self.value) }
        let held = try await disk.usage().entries
        #expect(held > 20 && held < 400)
        // Also in the next process, which opens the file anew.
        await disk.store.close()
        // And has no page left in it.
        let other = try folder.connection()
        let pages = try await other.writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM")
            return try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        }
        try other.close()
        let full = DiskOptions(lockTimeout: .seconds(60), fileLimit: pages * 4_096)
        let (next, again) = place(1 << 30, folder.store(full))
        #expect(try await again.usage().entries == held)
        #expect(try await next.value(of: record(0, ends: false)) == Self.value)
        try await next.set(Self.value, for: record(1_000, ends: false))
        #expect(try await next.value(of: record(1_000, ends: false)) == Self.value)
    }

    @Test("in a full file records that expire make room, the coldest first, so that later ones are persisted")
    func sweepOfFullFile() async throws {
        let (cache, disk) = place(1 << 30, folder.store(DiskOptions(lockTimeout: .seconds(60), fileLimit: 240 << 10)))
        var number = 0
        while disk.statistics.unkept == 0 {
            try await cache.set(Self.value, for: record(number))
            number += 1
        }
        await waitForSweep(disk)
        #expect(disk.statistics.swept > 0 && disk.statistics.swept <= number / 5)
        let unkept = disk.statistics.unkept
        try await cache.set(Self.value, for: record(number))
        #expect(disk.statistics.unkept == unkept)
        #expect(try await persisted(0..<1, 1 << 30) == [])
        #expect(try await persisted(number..<(number + 1), 1 << 30) == [number])
    }

    @Test("A228 A231 A232 at the limit records that do not expire stay, a new one lives in memory, and nothing fails")
    func atTheLimit() async throws {
        let limit = try await 10 * size() + 200
        let (cache, disk) = place(limit)
        for number in 1_000_000..<1_000_010 { try await cache.set(Self.value, for: record(number, ends: false)) }
        // The sweeps of the last two writes find nothing to drop.
        await waitForSweep(disk)
        #expect(try await disk.usage().entries == 10)
        let loads = Locked(0)
        for number in [1_000_010, 1_000_011] {
            let (value, trace) = try await cache.valueWithTrace(of: record(number)) {
                loads.withLock { $0 += 1 }
                return Self.value
            }
            #expect(value == Self.value && trace.origin == .source)
        }
        try await cache.set(Self.value, for: record(1_000_012))
        for number in 1_000_010...1_000_012 {
            let (value, trace) = try await cache.valueWithTrace(of: record(number)) { throw CancellationError() }
            #expect(value == Self.value && trace.origin == .memory)
        }
        #expect(loads.withLock { $0 } == 2)
        await waitForSweep(disk)
        #expect(try await persisted(1_000_000..<1_000_013, limit) == Array(1_000_000..<1_000_010))
        #expect(disk.statistics.unkept == 3 && disk.statistics.swept == 0 && disk.statistics.failures == 0)
        // A record that grows out of its place leaves nothing old behind.
        try await cache.set(Self.value + Self.value, for: record(1_000_000, ends: false))
        #expect(try await persisted(1_000_000..<1_000_001, limit) == [])
        #expect(try await cache.value(of: record(1_000_000)) == Self.value + Self.value)
        // Fruitless sweeps have not stopped later ones. A write begins none beside one that is still ending.
        await waitForSweep(disk)
        try await cache.set(Self.value, for: record(1_000_020))
        await waitForSweep(disk)
        #expect(disk.statistics.swept == 1)
        #expect(try await disk.usage().entries == 9)
    }

    @Test("A228 a record that is larger than the limit stays in memory, too, and its older value is gone from disk")
    func larger() async throws {
        let (cache, disk) = place(4_000)
        try await cache.set(Self.value, for: record(1))
        try await cache.set([UInt8](repeating: 1, count: 5_000), for: record(1))
        #expect(try await cache.value(of: record(1))?.count == 5_000)
        #expect(try await persisted(1..<2, 4_000) == [])
        #expect(disk.statistics.unkept == 1 && disk.statistics.failures == 0)
    }

    @Test("a sweep leaves records that are not expirable until their end, and drops them then")
    func kept() async throws {
        let size = try await size() + ProviderRecord.keptTag.utf8.count + 2
        let (cache, disk) = place(10 * size)
        let kept = Provider<[UInt8]>("kept", key: .key(0), isExpirable: false)
        try await cache.set(Self.value, for: kept)
        for number in 1_000_000..<1_000_030 { try await cache.set(Self.value, for: record(number)) }
        await waitForSweep(disk)
        #expect(disk.statistics.swept > 0)
        #expect(try await place(10 * size).cache.value(of: kept) == Self.value)
        hand.advance(360_000)
        #expect(try await cache.removeExpired() > 0)
        #expect(try await place(10 * size).cache.value(of: kept) == nil)
    }

    @Test("A229 the limit is 300 MiB, and stale values are off, if nothing is said")
    func defaults() {
        let label = ProviderCache(folder.store(), namespace: "records").levels.label
        #expect("\(label)".contains("at most \(300 << 20) bytes, swept at 95 %"))
        #expect(FreshnessPolicy().staleIfError == .zero && FreshnessPolicy().staleWhileRevalidate == .zero)
    }

    @Test("A230 A232 from 95 % of the limit on, the least recently used go until 70 % are left, from memory too")
    func sweeps() async throws {
        let size = try await size()
        let limit = 100 * size
        let (cache, disk) = place(limit)
        // Every tenth does not expire.
        for number in 1_000_000..<1_000_094 {
            try await cache.set(Self.value, for: record(number, ends: number % 10 != 0))
        }
        await waitForSweep(disk)
        #expect(try await disk.usage() == (94 * size, 94))
        #expect(disk.statistics.swept == 0)
        // The first five are used again, past memory.
        let used = 1_000_001..<1_000_006
        let other = place(limit, disk.store).cache
        for number in used { #expect(try await other.value(of: record(number)) != nil) }
        for key in used { _ = try await disk.entry(for: ProviderRecord.Key(record(key)), ReadRequest()) }
        try await cache.set(Self.value, for: record(1_000_094))
        await waitForSweep(disk)
        #expect(try await disk.usage() == (70 * size, 70))
        #expect(disk.statistics.swept == 25)
        let gone = (1_000_000..<1_000_095).filter { $0 % 10 != 0 && !used.contains($0) }.prefix(25)
        let left = (1_000_000..<1_000_095).filter { !gone.contains($0) }
        for number in gone { #expect(try await cache.value(of: record(number)) == nil) }
        for number in left { #expect(try await cache.value(of: record(number)) == Self.value) }
        #expect(try await persisted(1_000_000..<1_000_095, limit) == left)
    }

    @Test("A230 what has expired goes before anything that is still good")
    func expiredFirst() async throws {
        let size = try await size()
        let (cache, disk) = place(20 * size)
        for number in 1_000_000..<1_000_012 { try await cache.set(Self.value, for: record(number)) }
        var lasting = record(0)
        lasting.lifetime = EntryLifetime(freshFor: .seconds(1_000))
        for number in 1_000_012..<1_000_018 {
            lasting.key = .key(number)
            try await cache.set(Self.value, for: lasting)
        }
        // The older ones are used last, and have expired all the same.
        _ = try await disk.get((1_000_000..<1_000_012).map { ProviderRecord.Key(record($0)) })
        hand.advance(360_000)
        lasting.key = .key(1_000_018)
        try await cache.set(Self.value, for: lasting)
        await waitForSweep(disk)
        #expect(try await persisted(1_000_000..<1_000_019, 20 * size) == Array(1_000_012..<1_000_019))
        #expect(disk.statistics.swept == 12)
    }

    @Test(
        "A233 A234 a sweep at the start drops what is past its lifetime, and tells its keys; a second one has nothing to tell"
    )
    func atTheStart() async throws {
        let before = place().cache
        try await before.set(Self.value, for: Provider("bytes", key: .group("a", 1)))
        try await before.set(Self.value, for: Provider("bytes", key: .key("b")))
        // Lifetimes that are named run by the real clock, and so from the moment at which the other one stands.
        let later = EntryLifetime(freshFor: .seconds(1_000))
        try await before.set(Self.value, for: Provider("later", lifetime: later))
        try await before.set(Self.value, for: Provider("always", lifetime: .unlimited))
        hand.advance(360_000)
        let (cache, disk) = place()
        var told: [String] = []
        #expect(try await cache.removeExpired { told.append($0.description) } == 2)
        #expect(told.sorted() == ["bytes:a:1", "bytes:b"])
        #expect(try await disk.usage().entries == 2)
        #expect(try await cache.removeExpired { told.append($0.description) } == 0)
        #expect(told.count == 2)
        hand.advance(60 * 365 * 86_400_000)
        #expect(try await cache.removeExpired() == 1)
        #expect(try await cache.value(of: Provider<[UInt8]>("always")) == Self.value)
    }

    @Test("A233 more than a transaction takes are dropped and told, each once")
    func many() async throws {
        let (cache, disk) = place(1 << 20)
        for number in 0..<700 { try await cache.set([1], for: record(number)) }
        // Keys may share a counter: then a change of one voids another.
        let count = try await disk.usage().entries
        #expect(count > 650)
        hand.advance(360_000)
        var told: Set<String> = []
        #expect(try await cache.removeExpired { told.insert($0.description) } == count)
        #expect(told.count == count)
        #expect(try await disk.usage() == (0, 0))
    }

    @Test("A235 an unreadable record is loaded anew and counted, and the limit and the sweep hold beside it")
    func unreadable() async throws {
        let size = try await size()
        let limit = 20 * size
        let (cache, disk) = place(limit)
        for number in 1_000_000..<1_000_018 { try await cache.set(Self.value, for: record(number)) }
        try folder.inspect { try $0.execute(sql: "UPDATE entry SET payload = x'00' WHERE id % 3 = 0") }
        let (again, damaged) = place(limit)
        var renewed = 0
        for number in 1_000_000..<1_000_018 {
            let (value, trace) = try await again.valueWithTrace(of: record(number)) { Self.value }
            #expect(value == Self.value)
            if trace.origin == .source { renewed += 1 }
        }
        #expect(renewed == 6 && damaged.statistics.unusable == 6)
        try folder.inspect { try $0.execute(sql: "UPDATE entry SET payload = x'00'") }
        try await cache.set(Self.value, for: record(1_000_018))
        await waitForSweep(disk)
        #expect(try await disk.usage() == (14 * size, 14))
        #expect(disk.statistics.swept == 5)
    }

    @Test("A235 a write that fails is the error of a set, is counted for a load, and later writes keep to the limit")
    func failedWrite() async throws {
        let size = try await size()
        let (cache, disk) = place(20 * size)
        for number in 1_000_000..<1_000_018 { try await cache.set(Self.value, for: record(number)) }
        try await forbidWriting(true, disk.store)
        await #expect(throws: DiskError.self) { try await cache.set(Self.value, for: record(1_000_018)) }
        #expect(disk.statistics.failures == 1)
        // A read wants its value, not the disk.
        #expect(try await cache.value(of: record(1_000_019)) { Self.value } == Self.value)
        #expect(disk.statistics.failures == 2)
        #expect(try await disk.usage().entries == 18)
        try await forbidWriting(false, disk.store)
        try await cache.set(Self.value, for: record(1_000_018))
        await waitForSweep(disk)
        #expect(try await disk.usage() == (14 * size, 14))
    }

    @Test("A235 a sweep that fails is counted, and the next write begins another")
    func failedSweep() async throws {
        let size = try await size()
        let (cache, disk) = place(20 * size)
        for number in 1_000_000..<1_000_018 { try await cache.set(Self.value, for: record(number)) }
        try folder.inspect {
            try $0.execute(sql: "CREATE TRIGGER stop BEFORE DELETE ON entry BEGIN SELECT raise(ABORT, 'stop'); END")
        }
        try await cache.set(Self.value, for: record(1_000_018))
        await waitForSweep(disk)
        #expect(disk.statistics.failures == 1 && disk.statistics.swept == 0)
        #expect(try await disk.usage().entries == 19)
        try folder.inspect { try $0.execute(sql: "DROP TRIGGER stop") }
        try await cache.set(Self.value, for: record(1_000_018))
        await waitForSweep(disk)
        #expect(try await disk.usage() == (14 * size, 14))
    }

    @Test("a change that cannot be kept on disk is refused, and the old record stays")
    func changeAtTheLimit() async throws {
        let limit = try await 10 * size() + 200
        let (cache, disk) = place(limit)
        for number in 1_000_000..<1_000_010 { try await cache.set(Self.value, for: record(number, ends: false)) }
        #expect(await diskCode { try await cache.update(record(1_000_000)) { ($0 ?? []) + Self.value } } == .noRoom)
        #expect(await diskCode { try await cache.update(record(1_000_010)) { _ in Self.value } } == .noRoom)
        await waitForSweep(disk)
        #expect(try await cache.value(of: record(1_000_000)) == Self.value)
        #expect(try await persisted(1_000_000..<1_000_011, limit) == Array(1_000_000..<1_000_010))
    }

    private func forbidWriting(_ isOn: Bool, _ store: DiskStore) async throws {
        let file = try await store.openFile()
        try await file.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = \(isOn)") }
    }
}
#endif
