#if Disk
internal import GRDB
internal import Strata

/// One namespace of a file: its rows, its size and the order of their use.
final class DiskSpace: Sendable {
    let store: DiskStore
    let name: String
    let limit: Int
    let whenFull: WhenFull
    /// Owns the tasks of work that no call waits for, and ends them when they take too long.
    let background = Flights<BackgroundWork, Void>(anchorLimit: 2, completionLimit: .seconds(60))
    private let touches = Locked(Touches())

    init(store: DiskStore, name: String, limit: Int, whenFull: WhenFull) {
        self.store = store
        self.name = name
        self.limit = limit
        self.whenFull = whenFull
    }

    /// How a namespace of levels is called in the file, so that none has the name of a domain.
    static func name(of namespace: String) -> String {
        let prefixes = ["domain:", "namespace:"]
        let isTaken = namespace == "domain" || prefixes.contains { namespace.hasPrefix($0) }
        return isTaken ? "namespace:\(namespace)" : namespace
    }

    /// What is done beside the calls, one of each at a time.
    enum BackgroundWork: Hashable, Sendable {
        case sweep
        case usage
    }

    /// What becomes of an entry for which there is no room, once what has expired is gone.
    enum WhenFull: Sendable {
        /// What was used longest ago makes room for it.
        case evict
        /// It is not kept, and that is no failure; a sweep makes room for later ones.
        case sweep
        /// It is refused.
        case refuse
    }

    // MARK: Reading

    /// The stored bytes of a key; the caller notes a use, if it can use them.
    func find(_ key: [UInt8]) async throws -> Found {
        try await store.read { [name] db, file in try Self.find(key, name, db, file) }
    }

    func find(_ keys: [[UInt8]]) async throws -> [Found] {
        try await store.readTogether { [name] db, file in try keys.map { try Self.find($0, name, db, file) } }
    }

    enum Found: Sendable {
        case nothing
        case damaged(id: Int64)
        case entry(StoredEntry)
    }

    static func find(_ key: [UInt8], _ name: String, _ db: Database, _ file: OpenFile) throws -> Found {
        guard let space = try file.space(name, db) else { return .nothing }
        let sql = "SELECT \(StoredEntry.columns) FROM entry WHERE space = ? AND key = ?"
        let rows = try Row.fetchCursor(try db.cachedStatement(sql: sql), arguments: [space, key.data])
        guard let row = try rows.next() else { return .nothing }
        return StoredEntry(row, key: key).map { .entry($0) } ?? .damaged(id: row[0])
    }

    // MARK: Order of use

    /// Notes a use; written together with others, since a write costs far more than a read, and beside the reads, since
    /// a write waits for those of other processes.
    ///
    /// What a reader cannot read, and its fetches spare, is not used: it has to become the coldest one day.
    func touch(_ entry: StoredEntry) {
        let isFull = touches.withLock { $0.add([entry.id]) }
        guard isFull else { return }
        background.launch(.usage) { [self] in
            do {
                try await store.write { db, file in
                    guard let space = try file.space(self.name, db) else { return }
                    try self.writeTouches(space, db)
                }
            } catch {
                // The order of use is worth little: a disk that is full, read-only or another's for long can be read.
                touches.withLock { $0.forget() }
                throw error
            }
        }
    }

    /// Writes down the uses that were noted since the last time.
    func writeTouches(_ space: Int64, _ db: Database) throws {
        let used = touches.withLock { $0.take() }
        guard !used.isEmpty else { return }
        let advance = try db.cachedStatement(sql: "UPDATE space SET tick = tick + ? WHERE id = ? RETURNING tick")
        guard let tick = try Int64.fetchOne(advance, arguments: [used.count, space]) else {
            throw DiskError(.corrupt, "the namespace is gone")
        }
        let usage = try db.cachedStatement(sql: "UPDATE usage SET used = ? WHERE entry = ? AND space = ?")
        for (index, id) in used.enumerated() {
            try usage.execute(arguments: [tick - Int64(used.count) + 1 + Int64(index), id, space])
        }
    }

    func bytes(_ space: Int64, _ db: Database) throws -> Int {
        let held = try db.cachedStatement(sql: "SELECT bytes FROM space WHERE id = ?")
        return try Int.fetchOne(held, arguments: [space]) ?? 0
    }

    // MARK: Writing

    /// What a write has done.
    struct Written: Sendable {
        /// Whether the entry is there.
        var isKept: Bool
        /// What the namespace would hold with the entry, and nothing dropped for it.
        var bytes: Int
        /// Whether there was no room for it in the whole file.
        var isFileFull = false
    }

    /// Keeps an entry in place of any other of its key, and makes room by what has expired; where that is not enough,
    /// as ``whenFull`` says.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - sparesNewer: Whether one with a higher schema number, which has not expired, stays in its place.
    ///   - now: The time, by which entries expire.
    /// - Returns: The outcome.
    /// - Throws: ``DiskError``; ``/Strata/CacheError/Code/tooLarge``.
    func store(_ entry: StoredEntry, _ key: [UInt8], sparesNewer: Bool = false, now: Int64) async throws -> Written {
        let size = entry.size(key)
        guard size <= limit else {
            // What it was to replace is no longer true.
            let isSpared = sparesNewer ? try await hasNewer(than: entry, key, now: now) : false
            if whenFull != .refuse, !isSpared { try await remove(key) }
            guard whenFull != .sweep else { return Written(isKept: false, bytes: 0) }
            throw CacheError(code: .tooLarge, message: "the entry is larger than the disk level's limit")
        }
        do {
            return try await writing(key, size, now: now) { db, file in
                let space = try file.madeSpace(self.name, db)
                let bytes = try self.bytes(space, db)
                if sparesNewer, try Self.hasNewer(than: entry, key, space, now: now, db) {
                    return Written(isKept: false, bytes: bytes)
                }
                return try self.write(entry, key, space, now: now, db)
            }
        } catch let error as DiskError where error.code == .full && whenFull == .sweep {
            // As where the namespace is full; and what it was to replace is no longer true.
            try await remove(key)
            return Written(isKept: false, bytes: 0, isFileFull: true)
        }
    }

    /// Writes, and once more when the file was full, with room made in this namespace.
    ///
    /// SQLite fails before the namespace's own limit is looked at: a file is larger than what is counted as its
    /// entries.
    private func writing<Result: Sendable>(
        _ key: [UInt8],
        _ size: Int,
        now: Int64,
        _ body: @Sendable (Database, OpenFile) throws -> Result
    ) async throws -> Result {
        do { return try await store.write(body) } catch let error as DiskError where error.code == .full {
            guard store.options.fileLimit.map({ size < $0 / 2 }) ?? true else { throw error }
            let isMade = try await store.write { db, file in
                guard let space = try file.space(self.name, db) else { return false }
                // Some pages more than the entry itself: rows lie in pages of four kilobytes.
                let room = 2 * size + (32 << 10)
                let onlyExpired = self.whenFull != .evict
                // What it replaces stays, if it fails again.
                let own = try db.cachedStatement(sql: "SELECT id FROM entry WHERE space = ? AND key = ?")
                let id = try Int64.fetchOne(own, arguments: [space, key.data])
                return try self.makeRoom(space, over: room, sparing: id, ofExpired: onlyExpired, now: now, db) > 0
            }
            guard isMade else { throw error }
            return try await store.write(body)
        }
    }

    /// Keeps an entry in place of the one with a version, or removes that, unless another one is there by now.
    ///
    /// - Returns: What was written; `nil` when it was not there.
    /// - Throws: Where an entry is not kept for want of room, too: others rely on finding their changes there.
    func exchange(
        _ entry: StoredEntry?,
        _ key: [UInt8],
        for version: EntryVersion?,
        now: Int64
    ) async throws -> Written? {
        guard entry.map({ $0.size(key) <= limit }) ?? true else {
            throw CacheError(code: .tooLarge, message: "the entry is larger than the disk level's limit")
        }
        // Immediate: no other process writes between the comparison and the end.
        return try await writing(key, entry?.size(key) ?? 0, now: now) { db, file in
            let space = try file.madeSpace(self.name, db)
            let sql = "SELECT high, low FROM entry WHERE space = ? AND key = ?"
            let row = try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [space, key.data])
            let found = row.map {
                let (high, low) = ($0.number(0, Int64.self) ?? 0, $0.number(1, Int64.self) ?? 0)
                return EntryVersion(high: UInt64(bitPattern: high), low: UInt64(bitPattern: low))
            }
            guard found == version else { return nil }
            if let entry {
                let written = try self.write(entry, key, space, now: now, db)
                guard written.isKept else { throw DiskError(.noRoom, "the namespace is full") }
                return written
            } else {
                try db.cachedStatement(sql: "DELETE FROM entry WHERE space = ? AND key = ?")
                    .execute(arguments: [space, key.data])
                return Written(isKept: false, bytes: 0)
            }
        }
    }

    /// Changes the lifetime and the version of an entry, if `body` says so.
    ///
    /// - Returns: Whether it was changed.
    func change(
        _ key: [UInt8],
        _ body: @Sendable (StoredEntry) throws -> StoredEntry?
    ) async throws -> Bool {
        try await store.write { [name] db, file in
            guard case .entry(let found) = try Self.find(key, name, db, file), let entry = try body(found),
                let space = try file.space(name, db)
            else { return false }
            try db.cachedStatement(
                sql: "UPDATE entry SET fresh = ?, ends = ?, high = ?, low = ?, checksum = ? WHERE id = ?"
            )
            .execute(arguments: [
                entry.fresh, entry.ends, Int64(bitPattern: entry.version.high), Int64(bitPattern: entry.version.low),
                Int64(bitPattern: entry.checksum(key)), found.id,
            ])
            // A row that is updated loses its places under its tags.
            try Self.tag(found.id, entry.tags, space, db)
            return true
        }
    }

    private func hasNewer(than entry: StoredEntry, _ key: [UInt8], now: Int64) async throws -> Bool {
        try await store.read { [name] db, file in
            guard let space = try file.space(name, db) else { return false }
            return try Self.hasNewer(than: entry, key, space, now: now, db)
        }
    }

    /// Whether a newer release has written the key: its values are not undone by what an older one fetches.
    private static func hasNewer(
        than entry: StoredEntry,
        _ key: [UInt8],
        _ space: Int64,
        now: Int64,
        _ db: Database
    ) throws -> Bool {
        let newer = "SELECT 1 FROM entry WHERE space = ? AND key = ? AND schema > ? AND ends > ?"
        return try Int.fetchOne(
            try db.cachedStatement(sql: newer),
            arguments: [space, key.data, Int(entry.schema), now]
        ) != nil
    }

    private static func tag(_ id: Int64, _ tags: [String], _ space: Int64, _ db: Database) throws {
        for tag in Set(tags.map { canonical($0) }) {
            try db.cachedStatement(sql: "INSERT INTO tagged (space, tag, entry) VALUES (?, ?, ?)")
                .execute(arguments: [space, tag, id])
        }
    }

    private func write(_ entry: StoredEntry, _ key: [UInt8], _ space: Int64, now: Int64, _ db: Database) throws
        -> Written
    {
        try writeTouches(space, db)
        let labels = entry.tags.isEmpty ? nil : TagList.bytes(entry.tags).data
        try db.cachedStatement(sql: Self.write)
            .execute(arguments: [
                space, key.data, entry.size(key), entry.kind, Int(entry.codec), Int(entry.compression),
                Int(entry.protection), Int(entry.schema), entry.stored, entry.fresh, entry.ends, entry.took,
                Int64(bitPattern: entry.version.high), Int64(bitPattern: entry.version.low),
                Int64(bitPattern: entry.checksum(key)), labels, entry.payload.data,
            ])
        let bytes = try bytes(space, db)
        let written = Written(isKept: true, bytes: bytes)
        guard bytes > limit || !entry.tags.isEmpty else { return written }
        let own = try db.cachedStatement(sql: "SELECT id FROM entry WHERE space = ? AND key = ?")
        guard let id = try Int64.fetchOne(own, arguments: [space, key.data]) else { return written }
        try Self.tag(id, entry.tags, space, db)
        guard bytes > limit, try makeRoom(space, over: bytes - limit, sparing: id, now: now, db) < bytes - limit else {
            return written
        }
        try db.cachedStatement(sql: "DELETE FROM entry WHERE id = ?").execute(arguments: [id])
        return Written(isKept: false, bytes: bytes)
    }

    private static let write = """
        INSERT INTO entry (space, key, size, kind, codec, compression, protection, schema, stored, fresh, ends, took,
            high, low, checksum, tags, payload)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (space, key) DO UPDATE SET size = excluded.size, kind = excluded.kind, codec = excluded.codec,
            compression = excluded.compression, protection = excluded.protection, schema = excluded.schema,
            stored = excluded.stored, fresh = excluded.fresh, ends = excluded.ends, took = excluded.took,
            high = excluded.high, low = excluded.low, checksum = excluded.checksum, tags = excluded.tags,
            payload = excluded.payload
        """

    /// Drops what has expired, and then, where the level evicts, what was used longest ago.
    ///
    /// - Returns: How many bytes were freed.
    @discardableResult
    private func makeRoom(
        _ space: Int64,
        over excess: Int,
        sparing: Int64? = nil,
        ofExpired: Bool = false,
        now: Int64,
        _ db: Database
    ) throws -> Int {
        var freed = 0
        func evict(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
            let rows = try Row.fetchAll(try db.cachedStatement(sql: sql), arguments: arguments)
            var isAny = false
            for row in rows where freed < excess && row[0] != sparing {
                try db.cachedStatement(sql: "DELETE FROM entry WHERE id = ?").execute(arguments: [row[0] as Int64])
                freed += max(row.number(1, Int.self) ?? 0, 0)
                isAny = true
            }
            return isAny
        }
        let expired = "SELECT id, size FROM entry WHERE space = ? AND ends <= ? AND ends < \(DiskSchema.never) LIMIT 64"
        while freed < excess, try evict(expired, [space, now]) {}
        guard freed < excess, !ofExpired else { return freed }
        switch whenFull {
        case .evict: break
        case .sweep: guard sparing == nil else { return freed }
        case .refuse: throw DiskError(.noRoom, "the namespace is full")
        }
        let coldest = """
            SELECT entry.id, entry.size FROM usage JOIN entry ON entry.id = usage.entry
            WHERE usage.space = ? ORDER BY usage.used LIMIT 64
            """
        while freed < excess, try evict(coldest, [space]) {}
        return freed
    }

    // MARK: Size

    /// What the namespace holds, as it is noted in the file.
    func usage() async throws -> (bytes: Int, entries: Int) {
        try await store.readTogether { [name] db, file in
            guard let space = try file.space(name, db),
                let row = try Row.fetchOne(db, sql: "SELECT bytes, entries FROM space WHERE id = ?", arguments: [space])
            else { return (0, 0) }
            // A damaged file may have anything there.
            return (row.number(0, Int.self) ?? 0, row.number(1, Int.self) ?? 0)
        }
    }

    func trim(to bytes: Int, now: Int64) async throws {
        try await store.write { db, file in
            guard let space = try file.space(self.name, db) else { return }
            try self.writeTouches(space, db)
            let held = try self.bytes(space, db)
            if held > bytes { try self.makeRoom(space, over: held - bytes, now: now, db) }
        }
    }
}
#endif
