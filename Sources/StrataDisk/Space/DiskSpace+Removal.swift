#if Disk
internal import GRDB
internal import Strata

extension DiskSpace {
    func remove(_ key: [UInt8]) async throws {
        try await delete([Condition(sql: "key = ?") { _ in [key.data] }])
    }

    /// Removes a damaged row, unless it was replaced meanwhile.
    func remove(damaged id: Int64, _ key: [UInt8]) async throws {
        try await store.write { [name] db, file in
            guard case .damaged(id) = try Self.find(key, name, db, file) else { return }
            try db.execute(sql: "DELETE FROM entry WHERE id = ?", arguments: [id])
        }
    }

    func removeAll() async throws {
        try await delete([Condition(sql: "1") { _ in [] }])
    }

    /// Removes what bears one of the tags, all at one moment.
    func removeAll(tagged tags: [String]) async throws {
        let conditions = Set(tags.map { Self.canonical($0) }).sorted()
            .map { tag in
                // With the namespace as an argument, or the entries that bear the tag would be looked for again for
                // each row.
                let sql = "id IN (SELECT entry FROM tagged WHERE space = ? AND tag = ?)"
                return Condition(sql: sql) { [$0, tag] }
            }
        if !conditions.isEmpty { try await delete(conditions) }
    }

    /// The text under which a tag stands in the file.
    ///
    /// SQLite compares bytes and ends a text at a zero; texts that Swift calls equal are one tag, and no two others
    /// are.
    static func canonical(_ tag: String) -> String {
        let bytes = NormalForm.composed(tag)
        guard bytes.contains(0) || bytes.first == UInt8(ascii: "#") else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return "#" + String(decoding: SHA256.hexadecimal(bytes), as: UTF8.self)
    }

    /// Which rows of a namespace go.
    private struct Condition: Sendable {
        let sql: String
        /// By the number of the namespace.
        let arguments: @Sendable (Int64) -> StatementArguments
    }

    private func delete(_ conditions: [Condition]) async throws {
        // What is not there needs no write, which would wait for others.
        let isAny = try await store.read { [name] db, file in
            guard let space = try file.space(name, db) else { return false }
            return try conditions.contains { condition in
                let sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE space = ? AND \(condition.sql))"
                let arguments = [space] + condition.arguments(space)
                return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: arguments) ?? false
            }
        }
        guard isAny else { return }
        try await store.write { [name] db, file in
            guard let space = try file.space(name, db) else { return }
            for condition in conditions {
                try db.cachedStatement(sql: "DELETE FROM entry WHERE space = ? AND \(condition.sql)")
                    .execute(arguments: [space] + condition.arguments(space))
            }
        }
    }
}
#endif
