import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

/// A cache over a source that counts, as one process has it.
struct PlainProcess: Sendable {
    typealias Cache = Composed<MemoryLevel<String, String>, Source<String, String>>

    let cache: Cache
    private let fetched = Tally()

    var fetches: Int { fetched.count }

    init(
        _ limit: MemoryLimit<String> = .entries(100),
        freshness: FreshnessPolicy = FreshnessPolicy(freshFor: .seconds(600))
    ) {
        cache = MemoryLevel(limit: limit)
            .compose(
                Source(freshness: freshness) { [fetched] key, _ in
                    fetched.add()
                    return key == "none" ? .absent(tags: ["t:none"]) : .value("value of \(key)", tags: ["t:\(key)"])
                }
            )
    }

    /// Hibernates at a moment of the wall clock, for as long as that takes on a busy machine.
    @discardableResult
    func hibernate(
        to folder: ScratchFolder,
        at wallTime: Int64 = 1_000_000,
        limits: HibernationLimits = HibernationLimits(duration: .seconds(600)),
        codec: Codec<String> = .text
    ) async throws -> HibernationReport {
        try await cache.hibernate(to: folder.file, codec: codec, limits: limits, wallTime: wallTime)
    }

    /// Restores at a later moment.
    @discardableResult
    func restore(
        from folder: ScratchFolder,
        after milliseconds: Int64 = 1_000,
        upTo maximumAge: Duration? = .seconds(600),
        codec: Codec<String> = .text
    ) async throws -> RestorationReport {
        try await cache.restore(
            from: folder.file,
            codec: codec,
            unconfirmedUpTo: maximumAge,
            within: .seconds(60),
            reading: nil,
            wallTime: 1_000_000 + milliseconds
        )
    }

    /// Whether memory answers alone.
    func remembers(_ key: String) -> String? { cache.resident(key, at: .coarse)?.value }
}

/// The code of what a body throws.
func hibernationCode(_ body: () async throws -> Void) async -> HibernationError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? HibernationError)?.code
    }
}

@Suite("Memory over a source, hibernated and read back", .timeLimit(.minutes(5)))
struct HibernationTests {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    @Test("values and absences are back, with tags and the rest of their lifetimes, and the file is used once")
    func roundTrip() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get(["a", "b", "none"])
        let written = try await one.hibernate(to: folder)
        #expect(written.written == 3 && written.left == 0 && written.void == 0)
        #expect(written.bytes == (try folder.bytes().count))
        #expect(try folder.mode() == 0o600)
        let other = PlainProcess()
        let report = try await other.restore(from: folder)
        #expect(report.hasFile && report.restored == 3 && report.isWhole && report.unreadable == 0)
        #expect(other.remembers("a") == "value of a" && other.remembers("b") == "value of b")
        #expect(try await other.cache.get("none") == nil)
        #expect(other.fetches == 0)
        // Their tags still void them.
        try await other.cache.invalidate(tag: "t:a")
        #expect(other.remembers("a") == nil && other.remembers("b") != nil)
        try await other.cache.invalidate(tag: "t:none")
        _ = try await other.cache.get("none")
        #expect(other.fetches == 1)
        // What this process changes must not come back with the next one.
        #expect(folder.names.isEmpty)
        let third = PlainProcess()
        #expect(try await third.restore(from: folder).hasFile == false)
    }

    @Test("the time that no process ran counts, and no clock makes a lifetime longer")
    func lifetimes() async throws {
        let one = PlainProcess(
            freshness: FreshnessPolicy(freshFor: .seconds(60), staleIfError: .seconds(60), jitter: 0)
        )
        _ = try await one.cache.get("a")
        for (away, fresh, isThere) in [
            (0 as Int64, 60 as Int64, true), (30_000, 30, true), (59_000, 1, true), (90_000, -30, true),
            (130_000, 0, false), (-1_500, 60, true), (-5_000, 0, false), (.max / 4, 0, false),
        ] {
            try await one.hibernate(to: folder)
            let other = PlainProcess()
            let report = try await other.restore(from: folder, after: away, upTo: .seconds(100_000))
            #expect(report.restored == (isThere ? 1 : 0) && report.expired == (isThere ? 0 : 1), "\(away)")
            let entry = try await other.cache.upper.entry(for: "a", ReadRequest())
            guard isThere else {
                #expect(entry == nil)
                continue
            }
            let left = MonotonicInstant.now.duration(to: try #require(entry).freshUntil)
            #expect(left <= .seconds(fresh) && left > .seconds(fresh - 30), "\(away): \(left)")
        }
    }

    @Test("nothing is older than was allowed, then or later")
    func maximumAge() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get("a")
        try await one.hibernate(to: folder)
        let tooOld = PlainProcess()
        #expect(try await tooOld.restore(from: folder, after: 61_000, upTo: .seconds(60)).expired == 1)
        try await one.hibernate(to: folder)
        let other = PlainProcess()
        #expect(try await other.restore(from: folder, after: 50_000, upTo: .seconds(100)).restored == 1)
        let entry = try #require(try await other.cache.upper.entry(for: "a", ReadRequest()))
        #expect(MonotonicInstant.now.duration(to: entry.staleUntil) <= .seconds(50))
        #expect(try #require(entry.age(at: .now)) >= .seconds(50))
    }

    @Test("the time that reading back takes counts, too")
    func slow() async throws {
        let clock = ManualClock()
        let one = PlainProcess(.entries(2_000))
        for number in 0..<1_200 { _ = try await one.cache.get("\(number)") }
        try await one.hibernate(to: folder)
        let cache = clock.driving {
            MemoryLevel<String, String>(limit: .entries(2_000)).compose(Source { (_: String) -> String? in nil })
        }
        let isLate = Locked(false)
        let report = try await cache.restore(
            from: folder.file,
            codec: .text,
            unconfirmedUpTo: .seconds(60),
            within: .seconds(60),
            reading: { bytes in
                isLate.withLock { isLate in
                    if !isLate { try? clock.advance(by: .seconds(30)) }
                    isLate = true
                }
                return String(decoding: bytes, as: UTF8.self)
            },
            wallTime: 1_001_000
        )
        #expect(report.restored == 1_200)
        let end = try #require(cache.clock).now.advanced(by: .seconds(30))
        for number in 0..<1_200 {
            let entry = try #require(try await cache.upper.entry(for: "\(number)", ReadRequest()))
            #expect(entry.staleUntil <= end)
        }
    }

    @Test("without an age nothing is read back above a source, and the file stays")
    func unconfirmable() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get("a")
        try await one.hibernate(to: folder)
        let other = PlainProcess()
        #expect(await hibernationCode { try await other.restore(from: folder, upTo: nil) } == .unconfirmable)
        #expect(folder.names == ["cache.warm"] && other.remembers("a") == nil)
        // A level that hears of changes and cannot say what it has missed is not believed either.
        let hearing = MemoryLevel<String, Int>(limit: .entries(9)).compose(GatedLevel())
        let code = await hibernationCode {
            try await hearing.restore(from: folder.file, codec: .json, unconfirmedUpTo: .seconds(9))
        }
        #expect(code == .unconfirmable)
        #expect(await hibernationCode { try await other.cache.restore(from: folder.file) } == .noCodec)
    }

    @Test("above a source what this process removes while it reads back stays removed: a key, a tag, all")
    func removedMeanwhile() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get(["a", "b", "c"])
        let changes: [@Sendable (PlainProcess.Cache) -> Void] = [
            { $0.fillGate.void($0.lower.fingerprint(of: "b")) },
            { $0.fillGate.void(tags: ["t:b"]) },
            { $0.fillGate.voidAll() },
        ]
        for (number, change) in changes.enumerated() {
            try await one.hibernate(to: folder)
            let other = PlainProcess()
            let changed = Locked(false)
            let report = try await other.cache.restore(
                from: folder.file,
                codec: .text,
                unconfirmedUpTo: .seconds(600),
                within: .seconds(60),
                // Called before any ticket is taken.
                reading: { bytes in
                    if !changed.withLock({ exchange(&$0, with: true) }) { change(other.cache) }
                    return String(decoding: bytes, as: UTF8.self)
                },
                wallTime: 1_001_000
            )
            #expect(other.remembers("b") == nil, "change \(number)")
            #expect(report.restored == (number == 0 ? 2 : 0))
        }
    }

    @Test("what is void is not written: by a tag, a removal, or its time")
    func void() async throws {
        let one = PlainProcess(freshness: FreshnessPolicy(freshFor: .milliseconds(1), jitter: 0))
        _ = try await one.cache.get("short")
        let two = PlainProcess()
        _ = try await two.cache.get(["a", "b", "c"])
        try await two.cache.invalidate(tag: "t:a")
        try await two.cache.remove("b")
        let report = try await two.hibernate(to: folder)
        #expect(report.written == 1 && report.void == 1)
        let other = PlainProcess()
        try await other.restore(from: folder)
        #expect(other.remembers("c") != nil && other.remembers("a") == nil && other.remembers("b") == nil)
    }

    @Test("what memory has is newer, and stays; what it has no room for is refused, and displaces nothing")
    func held() async throws {
        let one = PlainProcess()
        let keys = (0..<20).map { "k\($0)" }
        _ = try await one.cache.get(keys)
        try await one.hibernate(to: folder)
        let other = PlainProcess(.entries(8))
        try await other.cache.set("newer", for: "k3")
        try await other.cache.set("mine", for: "mine")
        let report = try await other.restore(from: folder)
        #expect(report.held == 1 && report.restored == 6 && report.refused == 13)
        #expect(other.remembers("k3") == "newer" && other.remembers("mine") == "mine")
        #expect(other.cache.upper.statistics.evictions == 0 && other.cache.upper.statistics.entries == 8)
    }

    @Test("the hottest are written first and come back in their order; limits hold")
    func hotness() async throws {
        let one = PlainProcess()
        let keys = (0..<60).map { "k\($0)" }
        _ = try await one.cache.get(keys)
        for _ in 0..<8 { for key in keys[40..<50] { _ = try await one.cache.get(key) } }
        let limits = HibernationLimits(entries: 20, duration: .seconds(600))
        let report = try await one.hibernate(to: folder, limits: limits)
        #expect(report.written == 20 && report.left == 40)
        let other = PlainProcess()
        try await other.restore(from: folder)
        for key in keys[40..<50] { #expect(other.remembers(key) != nil) }
        #expect(other.cache.upper.hottest(20) == Array(one.cache.upper.hottest(20)))
        let few = HibernationLimits(bytes: 1_000, duration: .seconds(600))
        let small = try await one.hibernate(to: folder, limits: few)
        #expect(small.bytes <= 1_000 && small.written > 2 && small.written + small.left == 60)
        #expect(try folder.bytes().count == small.bytes)
        let none = try await one.hibernate(to: folder, limits: HibernationLimits(duration: .zero))
        #expect(none.written == 0 && none.left == 60)
        #expect(try await PlainProcess().restore(from: folder).isWhole)
        let empty = try await one.hibernate(to: folder, limits: HibernationLimits(entries: -1))
        #expect(empty.written == 0 && empty.left == 60)
    }

    @Test("a file of other types, another codec or another schema number is refused and stays")
    func otherCache() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get("a")
        try await one.hibernate(to: folder)
        let other = PlainProcess()
        #expect(await hibernationCode { try await other.restore(from: folder, codec: .json) } == .otherForm)
        #expect(await hibernationCode { try await other.restore(from: folder, codec: .text.schema(2)) } == .otherForm)
        let migrating = Codec<String>.text.schema(2)
            .migrating { "of \($0.schema): " + String(decoding: $0.bytes, as: UTF8.self) }
        try await other.restore(from: folder, codec: migrating)
        #expect(other.remembers("a") == "of 0: value of a")
        try await one.hibernate(to: folder, codec: .text.schema(3))
        #expect(await hibernationCode { try await other.restore(from: folder, codec: .text.schema(2)) } == .otherForm)
        let numbers = MemoryLevel<Int, String>(limit: .entries(9)).compose(Source { key in "\(key)" })
        let code = await hibernationCode {
            try await numbers.restore(from: folder.file, codec: .text, unconfirmedUpTo: .seconds(9))
        }
        #expect(code == .otherCache)
        #expect(folder.names == ["cache.warm"])
    }

    @Test("a file that others may write, or that is none, is refused")
    func foreign() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get("a")
        try await one.hibernate(to: folder)
        try folder.allow(0o622)
        #expect(await hibernationCode { try await one.restore(from: folder) } == .notOwn)
        try folder.write(Array("SQLite format 3".utf8))
        #expect(await hibernationCode { try await one.restore(from: folder) } == .foreign)
        try folder.write([])
        #expect(await hibernationCode { try await one.restore(from: folder) } == .foreign)
        let code = await hibernationCode {
            try await one.cache.restore(from: folder.path, codec: .text, unconfirmedUpTo: .seconds(1))
        }
        #expect(code == .cannotOpen)
        #expect(
            await hibernationCode { try await one.cache.hibernate(to: "/proc/nowhere/x", codec: .text) } == .cannotOpen
        )
    }

    @Test("keys of a type of one's own come back by a closure")
    func ownKeys() async throws {
        struct Place: Hashable, KeyRepresentable {
            var row: Int
            var keyBytes: [UInt8] { Array("row \(row)".utf8) }
        }
        func cache() -> Composed<MemoryLevel<Place, String>, Source<Place, String>> {
            MemoryLevel<Place, String>(limit: .entries(9)).compose(Source { "\($0.row)" })
        }
        let one = cache()
        _ = try await one.get([Place(row: 1), Place(row: 2)])
        try await one.hibernate(to: folder.file, codec: .text, limits: HibernationLimits(duration: .seconds(600)))
        let code = await hibernationCode {
            try await cache().restore(from: folder.file, codec: .text, unconfirmedUpTo: .seconds(60))
        }
        #expect(code == .unreadableKeys)
        let other = cache()
        let report = try await other.restore(from: folder.file, codec: .text, unconfirmedUpTo: .seconds(60)) { bytes in
            Int(String(decoding: bytes.dropFirst(4), as: UTF8.self)).map { Place(row: $0 == 2 ? 3 : $0) }
        }
        // A key that does not have the bytes of the file is none.
        #expect(report.restored == 1 && report.unreadable == 1)
        #expect(other.resident(Place(row: 1), at: .coarse)?.value == "1")
    }

    @Test("a caller that is cancelled leaves the earlier file as it was")
    func cancelled() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get(["a", "b"])
        try await one.hibernate(to: folder)
        let before = try folder.bytes()
        let folder = folder
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await one.hibernate(to: folder)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.bytes() == before && folder.names == ["cache.warm"])
    }

    @Test("on a clock that a test moves, lifetimes are those of that clock")
    func movedClock() async throws {
        let clock = ManualClock()
        func process() -> PlainProcess {
            clock.driving { PlainProcess(freshness: FreshnessPolicy(freshFor: .seconds(60), jitter: 0)) }
        }
        let one = process()
        _ = try await one.cache.get("a")
        try clock.advance(by: .seconds(40))
        #expect(try await one.hibernate(to: folder).written == 1)
        let other = process()
        #expect(try await other.restore(from: folder, after: 0).restored == 1)
        try clock.advance(by: .seconds(19))
        #expect(try await other.cache.get("a") == "value of a" && other.fetches == 0)
        try clock.advance(by: .seconds(2))
        #expect(try await other.cache.get("a") == "value of a" && other.fetches == 1)
        // What has ended by that clock is not written.
        try clock.advance(by: .seconds(61))
        let last = try await other.hibernate(to: folder)
        #expect(last.written == 0)
    }

    @Test("a change that comes while entries are read back is not undone")
    func race() async throws {
        let one = PlainProcess()
        _ = try await one.cache.get(["a", "b"])
        try await one.hibernate(to: folder)
        // The key is looked at, its ticket is taken, and then it changes.
        let other = PlainProcess()
        let codec = Codec<String>(identifier: 2) {
            Array($0.utf8)
        } decode: { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if text == "value of a" { other.cache.fillGate.void(other.cache.lower.fingerprint(of: "a")) }
            return text
        }
        let report = try await other.restore(from: folder, codec: codec)
        #expect(report.restored == 1 && report.changed == 1)
        #expect(other.remembers("a") == nil && other.remembers("b") != nil)
    }
}
