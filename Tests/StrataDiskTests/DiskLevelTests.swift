#if Disk
import Foundation
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("A level on disk", .timeLimit(.minutes(5)))
struct DiskLevelTests {
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    private func level(limit: Int = 1 << 20, _ namespace: String = "test") -> DiskLevel<String, String> {
        DiskLevel(folder.store(), namespace: namespace, codec: .text, limit: limit)
    }

    @Test("A145 an empty level misses, and another key's value does not help")
    func empty() async throws {
        let level = level()
        #expect(try await level.get("a") == nil)
        #expect(try await level.get(["a", "b"]) == [nil, nil])
        try await level.set("1", for: "b")
        #expect(try await level.get("a") == nil)
        #expect(level.statistics.misses == 4)
    }

    @Test("a read that leaves out the disk finds nothing there, also when there is no level below")
    func skipping() async throws {
        let level = level()
        let skipping = ReadOptions(skipsReading: [.memory, .disk])
        try await level.set("1", for: "a")
        let cache = MemoryLevel<String, String>(limit: .entries(4)).compose(level)
        for level in [AnyLevel(level), AnyLevel(cache)] {
            #expect(try await level.get("a", skipping) == nil)
            #expect(try await level.get(["a", "b"], skipping) == [nil, nil])
            let (value, trace) = try await level.getWithTrace("a", skipping)
            #expect(value == nil && trace.steps.last?.origin == .disk && trace.steps.last?.event == .skipped)
        }
        #expect(level.statistics.hits + level.statistics.misses == 0)
    }

    @Test("A146 a set leaves one row, found by its key, which decodes to the value")
    func onDisk() async throws {
        try await level().set("value", for: "a/../b")
        let rows = try folder.inspect { try Row.fetchAll($0, sql: "SELECT key, payload, codec FROM entry") }
        #expect(rows.count == 1)
        #expect(rows.first.map { Array($0[0] as Data) } == Array("a/../b".utf8))
        #expect(try rows.first.map { try Codec.text.decode(Array($0[1] as Data)) } == "value")
        #expect(rows.first.map { $0[2] as Int } == 2)
    }

    @Test("A147 values come back, to another instance and after a restart, and a second set takes the first's place")
    func roundTrip() async throws {
        let level = level()
        try await level.set("one", for: "k")
        try await level.set("two", for: "k")
        #expect(try await level.get("k") == "two")
        #expect(try await self.level().get("k") == "two")
        #expect(try await level.usage().entries == 1)
        await level.store.close()
        #expect(try await self.level().get("k") == "two")
        #expect(await diskCode { _ = try await level.get("k") } == .closed)
    }

    @Test("hostile keys come back with their own value, and nothing outside the file's folder is touched")
    func hostileKeys() async throws {
        let level = DiskLevel<[UInt8], [UInt8]>(folder.store(), namespace: "../../etc", codec: .bytes, limit: 8 << 20)
        let texts = ["", "a", "a/b", "../x", "..", "/", "\0", "a\0", "'; DROP TABLE entry; --", "🙂", "%"]
        let keys = texts.map { Array($0.utf8) } + [[0xff], [0xff, 0], Array(repeating: 97, count: 1 << 20)]
        for (index, key) in keys.enumerated() { try await level.set([UInt8(index)], for: key) }
        for (index, key) in keys.enumerated() { #expect(try await level.get(key) == [UInt8(index)]) }
        #expect(try await level.get(keys) == keys.indices.map { [UInt8($0)] })
        #expect(try folder.names.allSatisfy { $0.hasPrefix("cache.sqlite") })
        for key in keys { try await level.remove(key) }
        #expect(try await level.usage() == (0, 0))
    }

    @Test("A148 A149 when there is no room, what was read or written longest ago goes first, until the rest fits")
    func leastRecentlyUsed() async throws {
        let one = StoredEntry.overhead + 2 + 1_000
        let level = level(limit: 4 * one)
        for key in ["a", "b", "c", "d"] { try await level.set(String(repeating: key, count: 1_000), for: key) }
        _ = try await level.get("a")
        _ = try await level.get(["c"])
        try await level.set(String(repeating: "b", count: 1_000), for: "b")
        // The order is now d, a, c, b.
        try await level.set(String(repeating: "e", count: 1_000), for: "e")
        #expect(try await level.get("d") == nil)
        try await level.set(String(repeating: "f", count: 2_000), for: "f")
        #expect(try await level.get(["a", "c"]) == [nil, nil])
        #expect(try await level.get(["b", "e", "f"]).allSatisfy { $0 != nil })
        #expect(try await level.usage() == (3 * one + 1_000, 3))
    }

    @Test("A149 the limit holds after any operations, and the size on record is that of the rows")
    func limitHolds() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let limit = 20_000
        let level = level(limit: limit)
        for _ in 0..<300 {
            let key = String(Int.random(in: 0..<40, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try await level.remove(key)
            case 1...3: _ = try await level.get(key)
            default:
                let size = Int.random(in: 0...6_000, using: &random)
                try await level.set(String(repeating: "x", count: size), for: key)
            }
            #expect(try await level.usage().bytes <= limit, "seed \(seed)")
        }
        let usage = try await level.usage()
        let counted = try folder.inspect {
            try Row.fetchOne($0, sql: "SELECT sum(size), count(*), (SELECT count(*) FROM usage) FROM entry")
        }
        #expect(usage.bytes == counted.map { $0[0] as Int }, "seed \(seed)")
        #expect(usage.entries == counted.map { $0[1] as Int } && usage.entries == counted.map { $0[2] as Int })
    }

    @Test("A150 what a file held before counts from the start, and a lower limit takes hold")
    func lowered() async throws {
        let level = level()
        for number in 0..<10 { try await level.set(String(repeating: "x", count: 1_000), for: "\(number)") }
        await level.store.close()
        let smaller = self.level(limit: 5_000)
        #expect(try await smaller.usage().entries == 10)
        try await smaller.set("y", for: "new")
        #expect(try await smaller.usage().bytes <= 5_000)
        #expect(try await smaller.get(["9", "0"]).map { $0 != nil } == [true, false])
        try await smaller.trim(to: 1_500)
        #expect(try await smaller.usage().entries == 2)
        try await smaller.trim(to: 0)
        #expect(try await smaller.usage() == (0, 0))
    }

    @Test("A151 clear empties the namespace, and only that")
    func clear() async throws {
        let level = level()
        let other = self.level("other")
        try await level.set("1", for: "k")
        try await other.set("2", for: "k")
        try await level.clear()
        #expect(try await level.get("k") == nil)
        #expect(try await level.usage() == (0, 0))
        #expect(try await other.get("k") == "2")
        try await level.clear()
    }

    @Test("A152 memory pressure changes nothing on disk", arguments: [MemoryPressure.moderate, .critical])
    func pressure(pressure: MemoryPressure) async throws {
        let level = level()
        try await level.set("1", for: "k")
        level.relieve(pressure)
        #expect(try await level.get("k") == "1")
    }

    @Test("A153 a removed key is gone with its size, and removing an absent one succeeds")
    func remove() async throws {
        let level = level()
        try await level.remove("nothing")
        try await level.set("1", for: "k")
        try await level.set("2", for: "l")
        try await level.remove("k")
        try await level.remove("k")
        #expect(try await level.get("k") == nil)
        #expect(try await level.usage() == (StoredEntry.overhead + 3, 1))
    }

    @Test(
        "A154 a damaged row is deleted with its size, and its key misses",
        arguments: ["payload", "key", "high", "tags"]
    )
    func damaged(column: String) async throws {
        let level = level()
        try await level.set("value", for: "k")
        try folder.inspect { db in
            let change = ["payload": "CAST('valuf' AS BLOB)", "key": "CAST('l' AS BLOB)", "high": "5", "tags": "x'01'"]
            try db.execute(sql: "UPDATE entry SET \(column) = \(change[column] ?? "")")
        }
        #expect(try await level.get(column == "key" ? "l" : "k") == nil)
        #expect(level.statistics.unusable == 1)
        #expect(try await level.usage() == (0, 0))
    }

    @Test("A155 a level of another type of values misses, and deletes nothing")
    func otherType() async throws {
        let texts = level()
        try await texts.set("text", for: "k")
        let numbers = DiskLevel<String, Int>(texts.store, namespace: "test", codec: .json)
        #expect(try await numbers.get("k") == nil)
        let same = DiskLevel<String, [Int]>(texts.store, namespace: "json", codec: .json)
        try await same.set([1], for: "k")
        let others = DiskLevel<String, [String: Int]>(texts.store, namespace: "json", codec: .json)
        #expect(try await others.get("k") == nil)
        #expect(others.statistics.unusable == 1)
        #expect(try await texts.get("k") == "text")
        #expect(try await same.get("k") == [1])
    }

    @Test("A158 an entry larger than the level is refused, the others stay, and its key's older value is gone")
    func tooLarge() async throws {
        let level = level(limit: 2_000)
        try await level.set("1", for: "other")
        try await level.set("2", for: "k")
        let error = await #expect(throws: CacheError.self) {
            try await level.set(String(repeating: "x", count: 2_000), for: "k")
        }
        #expect(error?.code == .tooLarge)
        #expect(try await level.get(["other", "k"]) == ["1", nil])
    }

    @Test("A159 without a word the limit is 100 MiB; where the file lies is always said")
    func defaults() {
        let level = DiskLevel<String, Int>(folder.store(), namespace: "n")
        #expect(level.limit == 104_857_600)
        #expect(level.label.name == "disk, namespace n in \(folder.file), at most 104857600 bytes")
    }

    @Test("tags: entries that bear one go together, in their namespace")
    func tags() async throws {
        let level = level()
        let other = self.level("other")
        for (key, tags) in [("a", ["x"]), ("b", ["x", "y", "x"]), ("c", ["y"]), ("d", [])] {
            try await level.store(Entry(.value(key), tags: tags), for: key)
        }
        try await other.store(Entry(.value("a"), tags: ["x"]), for: "a")
        // A set takes the old tags off.
        try await level.store(Entry(.value("a2"), tags: ["z"]), for: "a")
        let found = try await level.entry(for: "b", ReadRequest())
        #expect(found?.tags == ["x", "y", "x"])
        try await level.invalidate(tag: "x")
        #expect(try await level.get(["a", "b", "c", "d"]) == ["a2", nil, "c", "d"])
        #expect(try await other.get("a") == "a")
        try await level.remove("c")
        #expect(try folder.inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM tagged") } == 2)
    }

    @Test("tags are any texts: equal ones are one tag, and no others")
    func hostileTags() async throws {
        let level = level()
        let zeros = "#" + String(decoding: SHA256.hexadecimal(Array("a\0b".utf8)), as: UTF8.self)
        let tags = ["a", "a\0", "a\0b", "a\0c", zeros, "#", "", "caf\u{E9}"]
        for tag in tags {
            try await level.store(Entry(.value(tag), tags: tags.filter { $0 != tag } + [tag]), for: "all" + tag)
        }
        for tag in tags { try await level.store(Entry(.value(tag), tags: [tag]), for: tag) }
        #expect(try await level.get(tags) == tags)
        for (index, tag) in tags.enumerated() {
            try await level.invalidate(tag: tag.last == "\u{E9}" ? "cafe\u{301}" : tag)
            let left = tags.enumerated().map { $0.offset > index ? $0.element : nil }
            #expect(try await level.get(tags) == left)
            #expect(try await level.get(tags.map { "all" + $0 }).allSatisfy { $0 == nil })
        }
    }

    @Test("any codec with any stages: schema numbers part releases, the older one's values stay")
    func schemas() async throws {
        let old = DiskLevel<String, String>(folder.store(), namespace: "n", codec: .text.schema(1))
        let new = DiskLevel<String, String>(folder.store(), namespace: "n", codec: .text.schema(2))
        let migrating = DiskLevel<String, String>(
            folder.store(),
            namespace: "n",
            codec: .text.schema(2).migrating { "migrated " + String(decoding: $0.bytes, as: UTF8.self) }
        )
        try await old.set("v", for: "k")
        #expect(try await new.get("k") == nil)
        #expect(try await migrating.get("k") == "migrated v")
        #expect(try await old.get("k") == "v")
    }

    @Test("what an older release fetches leaves a newer one's value; what it sets does not, nor an expired value")
    func newerValues() async throws {
        let old = DiskLevel<String, String>(folder.store(), namespace: "n", codec: .text.schema(1))
        let new = DiskLevel<String, String>(folder.store(), namespace: "n", codec: .text.schema(2))
        // A fill that goes on behind a read would come after what is set next.
        let patience = Duration.seconds(60)
        let source = Source<String, String> { _, _ in .value("fetched", tags: ["t"]) }
        let fetching = old.compose(source, fillWaitLimit: patience)
        try await new.set("newer", for: "k")
        #expect(try await fetching.get("k") == "fetched")
        #expect(try await new.get("k") == "newer")
        #expect(try await old.get("k") == nil)
        // Nor does it get the tags.
        try await new.invalidate(tags: ["t"])
        #expect(try await new.get("k") == "newer")
        let tight = DiskLevel<String, String>(folder.store(), namespace: "n", codec: .text.schema(1), limit: 200)
        let text = String(repeating: "x", count: 300)
        let large = tight.compose(ClosureFetcher<String, String> { _ in text }, fillWaitLimit: patience)
        #expect(try await large.get("k")?.count == 300)
        #expect(try await new.get("k") == "newer")
        try await old.set("set", for: "k")
        #expect(try await new.get("k") == nil)
        #expect(try await old.get("k") == "set")
        try await new.set("brief", for: "l", lifetime: EntryLifetime(freshFor: .milliseconds(1)))
        while try await new.get("l") != nil { try await nextTurn() }
        while try await old.get("l") == nil { _ = try await fetching.get("l") }
    }

    @Test("a cancelled call ends as cancelled")
    func cancelled() async throws {
        let level = level()
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await level.get("k")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
#endif
