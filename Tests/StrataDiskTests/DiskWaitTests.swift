#if Disk
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite("What calls on a disk wait for", .timeLimit(.minutes(5)))
struct DiskWaitTests {
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    private func level(_ lockTimeout: Duration = .seconds(600)) -> DiskLevel<String, String> {
        DiskLevel(folder.store(DiskOptions(lockTimeout: lockTimeout)), namespace: "test", codec: .text)
    }

    @Test("reads wait for no writer, however many uses there are to write down")
    func reads() async throws {
        let level = level()
        let keys = (0..<Touches.portion + 100).map(String.init)
        for key in keys { try await level.set("v", for: key) }
        let before = try lastUse("0")
        let other = try folder.connection()
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        for key in keys { #expect(try await level.get(key) == "v") }
        #expect(try await level.get(keys).allSatisfy { $0 == "v" })
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        await level.drain(within: .seconds(60))
        #expect(try lastUse("0") > before)
    }

    @Test("who removes what is not there waits for no writer")
    func removesNothing() async throws {
        let level = level()
        try await level.set("v", for: "k", lifetime: EntryLifetime(freshFor: .seconds(600)), tags: ["t"])
        let other = try folder.connection()
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        try await level.remove("none")
        try await level.invalidate(tag: "none")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(try await level.get("k") == "v")
        try await level.invalidate(tag: "t")
        #expect(try await level.get("k") == nil)
        try await level.clear()
    }

    @Test("who waits as long as it takes says so by the longest duration")
    func patient() async throws {
        let level = level(.seconds(Int64.max))
        try await level.set("v", for: "k")
        #expect(try await level.get("k") == "v")
    }

    private func lastUse(_ key: String) throws -> Int64 {
        let sql = "SELECT used FROM usage JOIN entry ON entry.id = usage.entry WHERE entry.key = ?"
        return try folder.inspect { try Int64.fetchOne($0, sql: sql, arguments: [Data(key.utf8)]) ?? 0 }
    }

    @Test("uses that cannot be written down are limited in number")
    func manyUses() {
        var touches = Touches()
        for id in 0..<100_000 { _ = touches.add([Int64(id)]) }
        let isFull = touches.add([0])
        #expect(isFull)
        let used = touches.take()
        #expect(used.count == 8 * Touches.portion)
        #expect(used.last == 0)
        let rest = touches.take()
        #expect(rest.isEmpty)
    }

    @Test("a process that keeps the file from being opened is a typed error after the time allowed, to all at once")
    func opening() async throws {
        let lock = try FileLock(folder.file + ".lock")
        let level = level(.seconds(2))
        let start = MonotonicInstant.now
        await withTaskGroup { group in
            for _ in 0..<60 {
                group.addTask { #expect(await diskCode { _ = try await level.get("k") } == .busy) }
            }
        }
        // One after the other they would take two minutes.
        #expect(start.duration(to: .now) < .seconds(60))
        lock.release()
        try await level.set("v", for: "k")
        #expect(try await level.get("k") == "v")
    }

    @Test("a process that keeps writing is a typed error after the time allowed, to all at once")
    func writing() async throws {
        let level = level(.seconds(2))
        try await level.set("v", for: "k")
        let other = try folder.connection()
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let start = MonotonicInstant.now
        await withTaskGroup { group in
            for number in 0..<60 {
                group.addTask { #expect(await diskCode { try await level.set("v", for: "\(number)") } == .busy) }
            }
        }
        // One after the other they would take two minutes.
        #expect(start.duration(to: .now) < .seconds(60))
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try await level.set("w", for: "k")
        #expect(try await level.get("k") == "w")
    }

    @Test("a write that is cancelled does not wait for another process")
    func cancelledWrite() async throws {
        let level = level()
        try await level.set("v", for: "k")
        let other = try folder.connection()
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let set = Task { try await level.set("w", for: "k") }
        let file = try await level.store.openFile()
        while !file.isWriting { try await nextTurn() }
        set.cancel()
        await #expect(throws: CancellationError.self) { try await set.value }
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(try await level.get("k") == "v")
    }

    @Test("a call that is cancelled does not wait until the file is open")
    func cancelled() async throws {
        let lock = try FileLock(folder.file + ".lock")
        let level = level(.seconds(20))
        let calls = (0..<4).map { _ in Task { try await level.get("k") } }
        while level.store.openings.count == 0 { try await nextTurn() }
        for call in calls { call.cancel() }
        for call in calls { await #expect(throws: CancellationError.self) { _ = try await call.value } }
        lock.release()
    }

    @Test("an index that does not agree with its table is set aside, and others' calls do not fail for that")
    func damagedIndex() async throws {
        let store = folder.store()
        let level = DiskLevel<String, String>(store, namespace: "test", codec: .text)
        for number in 0..<40 { try await level.set("v", for: "\(number)") }
        await store.close()
        try damageIndex(of: "7")
        let again = self.level()
        await withTaskGroup { group in
            for number in 0..<400 {
                group.addTask {
                    // Those that meet the damage tell of it; no other has a failure.
                    if number == 200 {
                        #expect(await diskCode { try await again.trim(to: 0) } == .corrupt)
                    } else {
                        #expect(await diskCode { _ = try await again.get("\(number % 40)") } == nil)
                    }
                }
            }
        }
        #expect(try await again.get("7") == nil)
        try await again.set("new", for: "7")
        #expect(try await again.get("7") == "new")
        #expect(try folder.names.contains { $0.contains(".corrupt") })
    }

    /// Gives a row another key, of which its index is not told.
    private func damageIndex(of key: String) throws {
        let index = try folder.inspect { db in
            try db.execute(sql: "PRAGMA writable_schema = ON")
            let row = try Row.fetchOne(db, sql: "SELECT * FROM sqlite_master WHERE name = 'entry_key'")
            try db.execute(sql: "DELETE FROM sqlite_master WHERE name = 'entry_key'")
            return try #require(row)
        }
        try folder.inspect { db in
            try db.execute(sql: "UPDATE entry SET key = ? WHERE key = ?", arguments: [Data([1]), Data(key.utf8)])
        }
        try folder.inspect { db in
            try db.execute(sql: "PRAGMA writable_schema = ON")
            try db.execute(
                sql: "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)",
                arguments: StatementArguments(index.databaseValues)
            )
        }
    }
}

/// What another process that opens a file holds.
private final class FileLock {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    }

    func release() { _ = flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
}
#endif
