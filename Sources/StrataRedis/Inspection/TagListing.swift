internal import Strata

/// The tags of a keyspace that were invalidated, the last ones first.
package struct TagListing: Sendable {
    /// A tag with the number of its last invalidation.
    package struct Tag: Sendable, Hashable {
        /// Its form in Redis: `=` and the tag, or `#` and the SHA-256 of a long one.
        let name: [UInt8]
        package let number: UInt64

        /// The tag; `nil` for a long one, whose hash alone is kept.
        package var bytes: [UInt8]? { name.first == UInt8(ascii: "=") ? Array(name.dropFirst()) : nil }

        /// The tag in one line that a terminal can show; `\#` and the hash for a long one.
        package var escaped: String { TagName.escaped(name) }
    }

    package let tags: [Tag]
    /// How many there are in all; in a cluster, in the part of the keyspace that has most.
    package let count: Int
    /// Tags without a number of their own were invalidated no later than by this one; 0 when none was forgotten.
    package let floor: UInt64
}

extension TagName {
    /// The name of a tag in one line that a terminal can show; `\#` and the hash for a long one.
    static func escaped(_ name: [UInt8]) -> String {
        name.first == UInt8(ascii: "=")
            ? PrintableText.escape(Array(name.dropFirst())) : "\\" + PrintableText.escape(name)
    }
}

extension KeyspaceInspector {
    /// The tags whose invalidation is known.
    ///
    /// A tag that an entry has, and that was never invalidated, leaves no trace but in that entry. O(tags) at the
    /// server, in small steps. In a cluster each part of the keyspace has the tags; the last number of each counts.
    ///
    /// - Parameter limit: Most tags to return.
    /// - Returns: The tags; none where the numbers are lost.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func tags(limit: Int) async throws -> TagListing {
        var newest: [TagListing.Tag] = []
        var floor: UInt64 = 0
        var count = 0
        for part in redis.parts {
            let others = try await collect(&newest, &floor, of: part, limit: limit)
            count = max(count, try await fieldCount(of: part) - others)
        }
        let tags = Self.newest(newest, limit: limit)
        return TagListing(tags: tags, count: max(tags.count, count), floor: floor)
    }

    /// Adds the tags of a part, and of any number of them keeps the last ones.
    ///
    /// - Returns: How many fields are no tags.
    private func collect(
        _ newest: inout [TagListing.Tag],
        _ floor: inout UInt64,
        of part: KeyspacePart?,
        limit: Int
    ) async throws -> Int {
        var others: Set<[UInt8]> = []
        var cursor: UInt64? = 0
        var scan = ScanLimit()
        let marks = RedisKey(keyspace.marks(of: part))
        while let position = cursor {
            let (next, fields) = try await redis.tagFields(in: keyspace, part, from: position)
            cursor = try await scan.step(after: position, to: next, at: redis.responsible(for: marks)) {
                try await fieldCount(of: part)
            }
            for field in fields {
                let number = TagMarks.number(field.number)
                guard TagName(bytes: field.name) != nil else {
                    if others.count < 16 { others.insert(field.name) }
                    if field.name == Array("f".utf8) { floor = max(floor, number ?? 0) }
                    continue
                }
                newest.append(TagListing.Tag(name: field.name, number: number ?? .max))
            }
            if newest.count > 2 * limit + 1024 { newest = Self.newest(newest, limit: limit) }
        }
        return others.count
    }

    private func fieldCount(of part: KeyspacePart?) async throws -> Int {
        do {
            return try await redis.count(of: "HLEN", .repeatable, [RedisKey(keyspace.marks(of: part))])
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return 0
        }
    }

    /// The last ones, each once: a scan may find a field again.
    private static func newest(_ tags: [TagListing.Tag], limit: Int) -> [TagListing.Tag] {
        var seen: Set<[UInt8]> = []
        let sorted = tags.sorted {
            $0.number == $1.number ? $0.name.lexicographicallyPrecedes($1.name) : $0.number > $1.number
        }
        return Array(sorted.filter { seen.insert($0.name).inserted }.prefix(limit))
    }
}
