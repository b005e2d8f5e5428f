#if Disk
internal import GRDB
internal import Strata

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension DiskSpace {
    /// From how much on a sweep begins: 95 % of the limit.
    var sweepsFrom: Int { limit - limit / 20 }

    /// How much a sweep leaves, if it finds enough to drop: 70 % of the limit.
    private var sweepsTo: Int { limit - limit / 10 * 3 }

    /// How many rows go in one transaction, so that other writers need not wait long.
    private static let portion = 256

    /// Entries that end later than this do not expire, and no sweep drops them: half of what the longest lifetime is.
    ///
    /// A lifetime without end is a hundred years, or no end at all.
    static func expirableEnd(_ now: Int64) -> Int64 {
        let (end, isBeyond) = now.addingReportingOverflow(50 * 365 * 86_400_000)
        return isBeyond ? .max : end
    }

    /// Drops what has expired, and then what was used longest ago, until 70 % of the limit are left; never what does
    /// not expire, nor what bears the tag of those that are kept until their end.
    ///
    /// - Parameters:
    ///   - now: The present time.
    ///   - isFileFull: Whether a tenth of what the namespace holds goes in any case, as the file has no room for its
    ///     limit.
    ///   - report: Told the keys of each portion that was dropped.
    /// - Throws: The error of the disk, and what was reported until then is gone.
    func sweep(now: Int64, isFileFull: Bool = false, _ report: ([[UInt8]]) async -> Void) async throws {
        var target = sweepsTo
        if isFileFull {
            let held = try await store.read { db, file in
                try file.space(self.name, db).map { try self.bytes($0, db) } ?? 0
            }
            target = min(target, held - held / 10)
        }
        var position = Int64.min
        while true {
            let (keys, next) = try await store.write { [position, target] db, file in
                try self.dropPortion(after: position, downTo: target, now: now, db, file)
            }
            if !keys.isEmpty { await report(keys) }
            guard let next else { return }
            position = next
        }
    }

    /// - Returns: The keys that were dropped, and after which use to go on; `nil` at the end.
    private func dropPortion(
        after position: Int64,
        downTo target: Int,
        now: Int64,
        _ db: Database,
        _ file: OpenFile
    ) throws -> (keys: [[UInt8]], next: Int64?) {
        guard let space = try file.space(name, db) else { return ([], nil) }
        try writeTouches(space, db)
        var excess = try bytes(space, db) - target
        guard excess > 0 else { return ([], nil) }
        let end = Self.expirableEnd(now)
        // By the index of ends: where nothing expires, a sweep costs nothing, however often it is begun.
        let expirable = "SELECT 1 FROM entry WHERE space = ? AND ends < ? AND ends < \(DiskSchema.never) LIMIT 1"
        guard try Int.fetchOne(try db.cachedStatement(sql: expirable), arguments: [space, end]) != nil else {
            return ([], nil)
        }
        let expired = try dropExpired(space, now: now, db)
        guard expired.isEmpty else { return (expired, position) }
        let coldest = """
            SELECT usage.used, entry.id, entry.size, entry.key FROM usage JOIN entry ON entry.id = usage.entry
            WHERE usage.space = ? AND usage.used > ? AND entry.ends < ? AND (entry.tags IS NULL OR NOT EXISTS
                (SELECT 1 FROM tagged WHERE space = usage.space AND tag = ? AND entry = usage.entry))
            ORDER BY usage.used LIMIT \(Self.portion)
            """
        let arguments: StatementArguments = [space, position, end, ProviderRecord.keptTag]
        let rows = try Row.fetchAll(try db.cachedStatement(sql: coldest), arguments: arguments)
        var dropped: [[UInt8]] = []
        for row in rows where excess > 0 {
            try db.cachedStatement(sql: "DELETE FROM entry WHERE id = ?").execute(arguments: [row[1] as Int64])
            excess -= max(row.number(2, Int.self) ?? 0, 0)
            dropped.append(row.bytes(3))
        }
        return (dropped, excess > 0 && rows.count == Self.portion ? rows.last?[0] : nil)
    }

    /// Removes what has expired, a portion at a time.
    ///
    /// - Parameters:
    ///   - now: The present time.
    ///   - report: Told each key, once it is gone.
    /// - Returns: How many there were.
    /// - Throws: The error of the disk, and what was reported until then is gone.
    func removeExpired(now: Int64, _ report: ([UInt8]) -> Void) async throws -> Int {
        // What is not there needs no write, which would wait for others.
        let isAny = try await store.read { [name] db, file in
            guard let space = try file.space(name, db) else { return false }
            let sql = "SELECT 1 FROM entry WHERE space = ? AND ends <= ? AND ends < \(DiskSchema.never) LIMIT 1"
            return try Int.fetchOne(try db.cachedStatement(sql: sql), arguments: [space, now]) != nil
        }
        guard isAny else { return 0 }
        var count = 0
        while true {
            let keys = try await store.write { [name] db, file in
                try file.space(name, db).map { try self.dropExpired($0, now: now, db) } ?? []
            }
            guard !keys.isEmpty else { return count }
            count += keys.count
            keys.forEach(report)
        }
    }

    private func dropExpired(_ space: Int64, now: Int64, _ db: Database) throws -> [[UInt8]] {
        let sql = """
            SELECT id, key FROM entry WHERE space = ? AND ends <= ? AND ends < \(DiskSchema.never)
            LIMIT \(Self.portion)
            """
        let rows = try Row.fetchAll(try db.cachedStatement(sql: sql), arguments: [space, now])
        for row in rows {
            try db.cachedStatement(sql: "DELETE FROM entry WHERE id = ?").execute(arguments: [row[0] as Int64])
        }
        return rows.map { $0.bytes(1) }
    }
}
#endif
