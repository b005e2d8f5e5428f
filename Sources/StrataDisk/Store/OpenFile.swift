#if Disk
internal import GRDB
internal import Strata

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A file that is open.
final class OpenFile: Sendable {
    /// By what a file is told from one that has taken its name.
    struct Identity: Hashable, Sendable {
        var device: UInt64
        var number: UInt64
    }

    let pool: DatabasePool
    let path: String
    let identity: Identity?
    private let turn: WriteTurn
    private let spaces = Locked<[String: Int64]>([:])

    /// Opens a file and prepares it; blocks.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - options: How to open it.
    ///   - isSuspect: Whether damage was met, so that the whole file is to be looked through.
    /// - Throws: `DatabaseError`, ``DiskError``.
    init(_ path: String, _ options: DiskOptions, isSuspect: Bool) throws {
        var configuration = Configuration()
        configuration.label = "strata"
        configuration.maximumReaderCount = max(1, options.readers)
        let turn = WriteTurn(options.lockTimeout)
        self.turn = turn
        configuration.busyMode = .callback { turn.tryAgain(after: $0) }
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { db in
            // A write dirties twice the pages that a plain table's would, most of them the same ones each time. With
            // SQLite's own 1 000 pages the journal would be copied, and the disk waited for, every 160 writes.
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
        }
        pool = try DatabasePool(path: path, configuration: configuration)
        do {
            if isSuspect {
                // A quick check would leave out whether indexes agree with their tables.
                let check = "PRAGMA integrity_check(1)"
                let verdict = try pool.writeWithoutTransaction { try String.fetchOne($0, sql: check) }
                guard verdict == "ok" else { throw DiskError(.corrupt, "the file is damaged") }
            }
            try pool.writeWithoutTransaction { db in
                // Now: what makes the pool has set it.
                let isOfPower = options.durability == .power
                try db.execute(sql: "PRAGMA synchronous = \(isOfPower ? "FULL" : "NORMAL")")
                // Only macOS knows the difference.
                try db.execute(sql: "PRAGMA fullfsync = \(isOfPower ? "ON" : "OFF")")
                if let limit = options.fileLimit { try Self.limit(db, to: limit) }
                try DiskSchema.prepare(db)
            }
        } catch {
            try? pool.close()
            throw error
        }
        self.path = path
        identity = Self.identity(of: path)
    }

    /// Lets the file grow up to a limit.
    ///
    /// Not before the pool is made: that writes a page and drops it again, for which a full file would have no room.
    private static func limit(_ db: Database, to bytes: Int) throws {
        let page = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 4_096
        // Answers with a row; fetched so that it takes effect.
        _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(max(1, bytes / page))")
    }

    /// The file that has the name at the moment; `nil` when there is none.
    static func identity(of path: String) -> Identity? {
        var found = stat()
        guard unsafe stat(path, &found) == 0 else { return nil }
        return Identity(
            device: UInt64(truncatingIfNeeded: found.st_dev),
            number: UInt64(truncatingIfNeeded: found.st_ino)
        )
    }

    /// Writes in one transaction, with the file locked for other processes from its beginning.
    ///
    /// - Throws: SQLITE_BUSY when they keep it for longer than the wait allows.
    func write<Result: Sendable>(
        _ wait: WriteWait,
        _ body: @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await pool.writeWithoutTransaction { [turn] db in
            try turn.take(wait) {
                var result: Result?
                try db.inTransaction(.immediate) {
                    result = try body(db)
                    return .commit
                }
                guard let result else { throw DiskError(.inputOutput, "a transaction has not run") }
                return result
            }
        }
    }

    /// Whether a write has its turn, and may wait for other processes.
    var isWriting: Bool { turn.isTaken }

    /// Whether the name still stands for this file.
    var isInPlace: Bool { identity != nil && Self.identity(of: path) == identity }

    /// The number of a namespace; `nil` when nothing was ever stored in it.
    func space(_ name: String, _ db: Database) throws -> Int64? {
        if let known = spaces.withLock({ $0[name] }) { return known }
        let statement = try db.cachedStatement(sql: "SELECT id FROM space WHERE name = ?")
        guard let found = try Int64.fetchOne(statement, arguments: [name]) else { return nil }
        // Committed, since no caller asks again after making one; and a namespace is never deleted.
        spaces.withLock { $0[name] = found }
        return found
    }

    /// The number of a namespace, which is made if need be.
    func madeSpace(_ name: String, _ db: Database) throws -> Int64 {
        if let known = try space(name, db) { return known }
        try db.execute(sql: "INSERT INTO space (name) VALUES (?)", arguments: [name])
        return db.lastInsertedRowID
    }
}
#endif
