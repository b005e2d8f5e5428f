#if Disk
import Foundation
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("Trouble with a disk", .timeLimit(.minutes(5)))
struct DiskTroubleTests {
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    private func level(_ options: DiskOptions = DiskOptions(), _ namespace: String = "test") -> DiskLevel<
        String, String
    > {
        DiskLevel(folder.store(options), namespace: namespace, codec: .text)
    }

    private static let zeros = Data(repeating: 0, count: 40_960)

    @Test("a file of zeros is set aside, and a new one takes its place", arguments: [true, false])
    func zeros(whileOpen: Bool) async throws {
        if whileOpen {
            let level = level()
            try await level.set("v", for: "k")
            // Over the open file, journal and all: not by renaming.
            for ending in ["", "-wal"] {
                let handle = try #require(FileHandle(forUpdatingAtPath: folder.file + ending))
                try handle.write(contentsOf: Self.zeros)
                try handle.close()
            }
            // Whatever it makes of what lies in its memory, it ends, without a wrong value.
            for _ in 0..<4 {
                let found = try? await level.get("k")
                #expect(found == nil || found == "v")
                try? await level.set("v", for: "k")
            }
            #expect(try await level.get("k") == "v")
        } else {
            for damage in [Self.zeros, Self.zeros + [1]] {
                // The level before closes its file a moment after it has gone, and takes the journal with it.
                while try folder.names.contains(where: { $0.hasSuffix("-wal") }) { try await nextTurn() }
                try damage.write(to: URL(fileURLWithPath: folder.file))
                do {
                    let level = level()
                    #expect(try await level.get("k") == nil)
                    try await level.set("v", for: "k")
                    #expect(try await level.get("k") == "v")
                }
                // The newest only: copies must not fill the disk.
                let aside = try folder.names.filter { $0.contains(".corrupt") }
                #expect(aside.count == 1)
                let kept = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(aside.first ?? "")"))
                #expect(kept == damage)
            }
        }
    }

    @Test("where it is so wished, a file that is no database is an error, and stays as it is")
    func fails() async throws {
        try Self.zeros.write(to: URL(fileURLWithPath: folder.file))
        let level = level(DiskOptions(corruption: .fail))
        #expect(await diskCode { _ = try await level.get("k") } == .corrupt)
        #expect(await diskCode { try await level.set("v", for: "k") } == .corrupt)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == Self.zeros)
        #expect(level.statistics.failures == 2)
        // Once it is gone, the level works.
        try FileManager.default.removeItem(atPath: folder.file)
        try await level.set("v", for: "k")
        #expect(try await level.get("k") == "v")
    }

    @Test("garbage within a file never gives a wrong value, and never a trap")
    func garbage() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<12 {
            let store = folder.store()
            let level = DiskLevel<String, String>(store, namespace: "test", codec: .text)
            for number in 0..<40 { try await level.set("value of \(number)", for: "\(number)") }
            await store.close()
            var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file))
            for _ in 0..<20 {
                let start = Int.random(in: 100..<bytes.count - 64, using: &random)
                for index in start..<start + Int.random(in: 1...64, using: &random) {
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                }
            }
            try bytes.write(to: URL(fileURLWithPath: folder.file))
            let again = self.level()
            for number in 0..<40 {
                if let found = try? await again.get("\(number)") {
                    #expect(found == "value of \(number)", "seed \(seed)")
                }
            }
            // The level heals: the damage is met, set aside, and written anew.
            for _ in 0..<3 { try? await again.set("new", for: "new") }
            await again.store.close()
            for name in try folder.names { try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)") }
        }
    }

    @Test("a database of another program is not touched")
    func foreign() async throws {
        try folder.inspect { try $0.execute(sql: "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)") }
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.file))
        #expect(await diskCode { _ = try await level().get("k") } == .foreign)
        #expect(await diskCode { try await level().set("v", for: "k") } == .foreign)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == before)
        #expect(try folder.inspect { try Int.fetchOne($0, sql: "SELECT x FROM theirs") } == 1)
        #expect(try folder.names.allSatisfy { !$0.contains("corrupt") })
    }

    @Test("nor is one that its program has locked at that moment: it is waited for, and then refused")
    func foreignAndLocked() async throws {
        try folder.inspect { try $0.execute(sql: "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)") }
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.file))
        let other = try folder.connection()
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        // It is not released in time.
        let impatient = level(DiskOptions(lockTimeout: .milliseconds(50)))
        #expect(await diskCode { _ = try await impatient.get("k") } == .busy)
        let patient = level(DiskOptions(lockTimeout: .seconds(60)))
        let read = Task { await diskCode { _ = try await patient.get("k") } }
        while patient.store.openings.count == 0 { try await nextTurn() }
        // Long enough to be looked at; too short, the test would only show less.
        try await Task.pause(for: .milliseconds(200))
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(await read.value == .foreign)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == before)
    }

    @Test("a database of another program that has died while it wrote is refused, too, and keeps its journal mode")
    func foreignWithJournal() async throws {
        try folder.inspect { try $0.execute(sql: "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)") }
        // What lies on the disk in the middle of a transaction is what is left when a program dies there.
        let other = try folder.connection()
        let copy = folder.file + ".copy"
        try await other.writeWithoutTransaction { [folder] db in
            try db.execute(sql: "PRAGMA cache_size = 1; BEGIN IMMEDIATE")
            let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
            try db.execute(sql: "\(numbers) INSERT INTO theirs SELECT i FROM n")
            for ending in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: folder.file + ending, toPath: copy + ending)
            }
            try db.execute(sql: "ROLLBACK")
        }
        let level = DiskLevel<String, String>(DiskStore(path: copy), namespace: "n", codec: .text)
        #expect(await diskCode { _ = try await level.get("k") } == .foreign)
        // 2 would be a log of its own.
        let header = try Data(contentsOf: URL(fileURLWithPath: copy)).prefix(20)
        #expect(Array(header.suffix(2)) == [1, 1])
        let sum = try await DatabaseQueue(path: copy).read { try Int.fetchOne($0, sql: "SELECT sum(x) FROM theirs") }
        #expect(sum == 1)
    }

    @Test("a file of a later release is not touched")
    func newer() async throws {
        let level = level()
        try await level.set("v", for: "k")
        await level.store.close()
        try folder.inspect { try $0.execute(sql: "PRAGMA user_version = 2") }
        #expect(await diskCode { _ = try await self.level().get("k") } == .newerFormat)
    }

    @Test("A156 a full disk is a typed error, the old value stays, and what is there can be read")
    func full() async throws {
        let level = level(DiskOptions(fileLimit: 160 << 10))
        try await level.set("old", for: "k")
        let large = String(repeating: "x", count: 200 << 10)
        #expect(await diskCode { try await level.set(large, for: "k") } == .full)
        #expect(try await level.get("k") == "old")
        #expect(try await level.usage().entries == 1)
        try await level.set("new", for: "k")
        #expect(try await level.get("k") == "new")
    }

    @Test("a file that is full makes room for new entries by what has expired, and by what was used longest ago")
    func roomInFullFile() async throws {
        let level = level(DiskOptions(fileLimit: 240 << 10))
        let text = String(repeating: "x", count: 1_000)
        // More than there is room for, by far; the level's own limit is larger than the file may be.
        for number in 0..<400 { try await level.set(text, for: "\(number)") }
        #expect(try await level.get("399") == text)
        #expect(try await level.get("0") == nil)
        #expect(try await level.usage().entries > 20)
        try await level.set(text, for: "brief", lifetime: EntryLifetime(freshFor: .milliseconds(1)))
        #expect(try await level.update("399") { _ in "new" } == "new")
    }

    @Test("a write that finds no room in a full file leaves what it was to replace")
    func noRoomInFullFile() async throws {
        let options = DiskOptions(fileLimit: 240 << 10)
        let store = folder.store(options)
        let text = String(repeating: "x", count: 1_000)
        let mine = DiskLevel<String, String>(store, namespace: "mine", codec: .text)
        let others = DiskLevel<String, String>(store, namespace: "others", codec: .text)
        try await mine.set("old", for: "k")
        for number in 0..<120 { try? await others.set(text, for: "\(number)") }
        let large = String(repeating: "x", count: 100 << 10)
        #expect(await diskCode { try await mine.set(large, for: "k") } == .full)
        #expect(try await mine.get("k") == "old")
    }

    @Test("what is to survive a power cut waits for the disk")
    func power() async throws {
        for (durability, expected) in [(DiskOptions.Durability.power, 2), (.process, 1)] {
            let store = folder.store(DiskOptions(durability: durability))
            let file = try await store.openFile()
            let found = try await file.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            #expect(found == expected)
            await store.close()
        }
    }

    @Test("A156 a folder that cannot be made, or is a file, is a typed error; later it works")
    func cannotOpen() async throws {
        let blocked = "\(folder.path)/blocked"
        try Data([1]).write(to: URL(fileURLWithPath: blocked))
        let level = DiskLevel<String, String>(
            DiskStore(path: "\(blocked)/in/cache.sqlite"),
            namespace: "n",
            codec: .text
        )
        #expect(await diskCode { try await level.set("v", for: "k") } == .cannotOpen)
        #expect(await diskCode { _ = try await level.get("k") } == .cannotOpen)
        try FileManager.default.removeItem(atPath: blocked)
        try await level.set("v", for: "k")
        #expect(try await level.get("k") == "v")
    }

    @Test("A156 lost permission is a typed error, the old value stays and can still be read")
    func readOnly() async throws {
        let level = level()
        try await level.set("old", for: "k")
        // Permissions do not bind root, so the connection itself is forbidden to write.
        try await setQueryOnly(true, level.store)
        #expect(await diskCode { try await level.set("new", for: "k") } == .notWritable)
        #expect(await diskCode { try await level.remove("k") } == .notWritable)
        #expect(try await level.get("k") == "old")
        try await setQueryOnly(false, level.store)
        try await level.set("new", for: "k")
        #expect(try await level.get("k") == "new")
    }

    private func setQueryOnly(_ isOn: Bool, _ store: DiskStore) async throws {
        let file = try await store.openFile()
        try await file.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = \(isOn)") }
    }

    @Test("a file that is deleted or moved away under the level: a new one takes its place")
    func moved() async throws {
        let level = level()
        try await level.set("v", for: "k")
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(try await level.get("k") == nil)
        try await level.set("w", for: "k")
        #expect(try await self.level().get("k") == "w")
    }

    @Test("another writer that does not let go is a typed error after the time allowed")
    func busy() async throws {
        let level = level(DiskOptions(lockTimeout: .milliseconds(20)))
        try await level.set("old", for: "k")
        let other = try folder.connection()
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        #expect(await diskCode { try await level.set("new", for: "k") } == .busy)
        #expect(try await level.get("k") == "old")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try await level.set("new", for: "k")
        #expect(try await level.get("k") == "new")
    }
}
#endif
