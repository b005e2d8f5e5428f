#if Disk
internal import GRDB

/// The tables of a file, format 1.
///
/// | table | holds |
/// |---|---|
/// | space | the namespaces: what they hold in bytes and entries, and a counter of their writes and reads |
/// | entry | keys, values and what is noted beside them |
/// | usage | when an entry was last used, by the counter of its namespace |
/// | tagged | the tags of entries |
///
/// Usage is kept apart from the entries: a read then changes a page that two hundred entries share, and not one with a
/// value. Sizes and the order of use are kept by triggers, so that a write is one statement and they cannot be
/// forgotten.
enum DiskSchema {
    /// `STR1`: tells files of Strata from those of other programs.
    static let application: Int32 = 0x5354_5231
    static let format: Int32 = 1
    /// The end of what never ends.
    static let never = Int64.max

    static let statements = """
        CREATE TABLE space (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            bytes INTEGER NOT NULL DEFAULT 0,
            entries INTEGER NOT NULL DEFAULT 0,
            tick INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY,
            space INTEGER NOT NULL,
            key BLOB NOT NULL,
            size INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            codec INTEGER NOT NULL,
            compression INTEGER NOT NULL,
            protection INTEGER NOT NULL,
            schema INTEGER NOT NULL,
            stored INTEGER NOT NULL,
            fresh INTEGER NOT NULL,
            ends INTEGER NOT NULL,
            took INTEGER NOT NULL,
            high INTEGER NOT NULL,
            low INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            tags BLOB,
            payload BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX entry_key ON entry (space, key);
        CREATE INDEX entry_ends ON entry (space, ends) WHERE ends < \(never);
        CREATE TABLE usage (entry INTEGER PRIMARY KEY, space INTEGER NOT NULL, used INTEGER NOT NULL) STRICT;
        CREATE INDEX usage_order ON usage (space, used);
        CREATE TABLE tagged (
            space INTEGER NOT NULL,
            tag TEXT NOT NULL,
            entry INTEGER NOT NULL,
            PRIMARY KEY (space, tag, entry)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tagged_entry ON tagged (entry);
        CREATE TRIGGER entry_new AFTER INSERT ON entry BEGIN
            UPDATE space SET bytes = bytes + NEW.size, entries = entries + 1, tick = tick + 1 WHERE id = NEW.space;
            INSERT INTO usage (entry, space, used)
                VALUES (NEW.id, NEW.space, (SELECT tick FROM space WHERE id = NEW.space));
        END;
        CREATE TRIGGER entry_replaced AFTER UPDATE ON entry BEGIN
            UPDATE space SET bytes = bytes + NEW.size - OLD.size, tick = tick + 1 WHERE id = NEW.space;
            UPDATE usage SET used = (SELECT tick FROM space WHERE id = NEW.space) WHERE entry = NEW.id;
        END;
        CREATE TRIGGER entry_retagged AFTER UPDATE ON entry WHEN OLD.tags IS NOT NULL BEGIN
            DELETE FROM tagged WHERE entry = OLD.id;
        END;
        CREATE TRIGGER entry_gone AFTER DELETE ON entry BEGIN
            UPDATE space SET bytes = bytes - OLD.size, entries = entries - 1 WHERE id = OLD.space;
            DELETE FROM usage WHERE entry = OLD.id;
        END;
        CREATE TRIGGER entry_untagged AFTER DELETE ON entry WHEN OLD.tags IS NOT NULL BEGIN
            DELETE FROM tagged WHERE entry = OLD.id;
        END;
        """

    /// Makes the tables of an empty file, and refuses files that are not Strata's or of a later release.
    static func prepare(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            if try isOurs(db) { return .commit }
            try db.execute(sql: statements)
            try db.execute(sql: "PRAGMA application_id = \(self.application)")
            try db.execute(sql: "PRAGMA user_version = \(self.format)")
            return .commit
        }
    }

    /// Whether the file has the tables; false for an empty one.
    ///
    /// - Throws: ``DiskError/Code/foreign`` and ``DiskError/Code/newerFormat``.
    static func isOurs(_ db: Database) throws -> Bool {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let format = try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if application == self.application {
            guard format <= self.format else {
                throw DiskError(.newerFormat, "the file has format \(format)")
            }
            return true
        }
        let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
        guard application == 0, format == 0, tables == 0 else {
            throw DiskError(.foreign, "the file is the database of another program")
        }
        return false
    }
}
#endif
