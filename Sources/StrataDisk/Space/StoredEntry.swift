#if Disk
internal import GRDB
internal import Strata

/// An entry as it lies on disk.
struct StoredEntry: Sendable {
    var id: Int64 = 0
    /// 0 value, 1 absence.
    var kind: Int64
    var codec: UInt8
    var compression: UInt8
    var protection: UInt8
    var schema: UInt32
    /// Milliseconds since 1970, like the two below.
    var stored: Int64
    var fresh: Int64
    var ends: Int64
    /// Microseconds.
    var took: Int64
    var version: EntryVersion
    var tags: [String]
    var payload: [UInt8]

    /// What an entry takes beside its key, tags and payload: its columns, its places in the indexes, its share of
    /// pages.
    static let overhead = 128

    func size(_ key: [UInt8]) -> Int {
        Self.overhead + 2 * key.count + payload.count + tags.reduce(0) { $0 + 2 * $1.utf8.count + 16 }
    }

    /// Over all that is read back, and over the key: a row whose bytes were damaged, or belong to another key, does not
    /// fit.
    func checksum(_ key: [UInt8]) -> UInt64 {
        var head: [UInt8] = [UInt8(truncatingIfNeeded: kind), codec, compression, protection]
        for number in [UInt64(schema), version.high, version.low]
            + [stored, fresh, ends, took].map({ UInt64(bitPattern: $0) })
        {
            for shift in stride(from: 0, to: 64, by: 8) {
                head.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
        }
        var hash = XXH64.hash(head)
        hash = XXH64.hash(TagList.bytes(tags), seed: hash)
        hash = XXH64.hash(key, seed: hash)
        return XXH64.hash(payload, seed: hash)
    }
}

extension StoredEntry {
    static let columns = """
        id, kind, codec, compression, protection, schema, stored, fresh, ends, took, high, low, tags, payload, checksum
        """

    /// What a row says; `nil` when it does not agree with its own checksum.
    init?(_ row: Row, key: [UInt8]) {
        guard let codec = row.number(2, UInt8.self), let compression = row.number(3, UInt8.self),
            let protection = row.number(4, UInt8.self), let schema = row.number(5, UInt32.self),
            let id = row.number(0, Int64.self), let kind = row.number(1, Int64.self),
            let stored = row.number(6, Int64.self), let fresh = row.number(7, Int64.self),
            let ends = row.number(8, Int64.self), let took = row.number(9, Int64.self),
            let high = row.number(10, Int64.self), let low = row.number(11, Int64.self),
            let checksum = row.number(14, Int64.self)
        else { return nil }
        let labels = row.bytes(12)
        guard let tags = TagList.tags(labels) else { return nil }
        self.init(
            id: id,
            kind: kind,
            codec: codec,
            compression: compression,
            protection: protection,
            schema: schema,
            stored: stored,
            fresh: fresh,
            ends: ends,
            took: took,
            version: EntryVersion(high: UInt64(bitPattern: high), low: UInt64(bitPattern: low)),
            tags: tags,
            payload: row.bytes(13)
        )
        guard kind == 0 || kind == 1, self.checksum(key) == UInt64(bitPattern: checksum) else { return nil }
    }

}

/// Tags in one column: the length of each in four bytes, then its text.
enum TagList {
    static func bytes(_ tags: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for tag in tags {
            let length = UInt32(clamping: tag.utf8.count)
            for shift in stride(from: 0, to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> UInt32(shift)))
            }
            bytes.append(contentsOf: tag.utf8)
        }
        return bytes
    }

    static func tags(_ bytes: [UInt8]) -> [String]? {
        var tags: [String] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard rest.count >= 4 else { return nil }
            let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard length <= rest.count, let tag = String(validating: rest.prefix(length), as: UTF8.self) else {
                return nil
            }
            tags.append(tag)
            rest = rest.dropFirst(length)
        }
        return tags
    }
}

extension Row {
    /// A number in a column; `nil` for NULL and whatever else a damaged file has there, where GRDB's own accessors end
    /// the process.
    func number<Number: FixedWidthInteger>(_ column: Int, _ type: Number.Type) -> Number? {
        Int64.fromDatabaseValue(self[column]).flatMap { Number(exactly: $0) }
    }

    /// The bytes in a column; none for NULL.
    func bytes(_ column: Int) -> [UInt8] {
        (try? withUnsafeData(atIndex: column) { $0.map { [UInt8]($0) } }) ?? []
    }
}
#endif
