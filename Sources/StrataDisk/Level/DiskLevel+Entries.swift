#if Disk
internal import Strata

extension DiskLevel {
    /// A clock that steps back by less than this is being corrected, not set.
    private static var tolerance: Int64 { 2_000 }

    /// What was found, as an entry; `nil` when it is over.
    func entry(of stored: StoredEntry, _ key: [UInt8]) throws(UnreadableValue) -> Entry<Value>? {
        let now = clock.now()
        guard stored.ends > now.wall, stored.stored <= now.wall + Self.tolerance else { return nil }
        let content: Entry<Value>.Content
        if stored.kind == 1 {
            guard stored.schema == codec.schema else { throw .otherSchema }
            content = .absent
        } else {
            let encoded = EncodedValue(
                bytes: stored.payload,
                codec: stored.codec,
                compression: stored.compression,
                protection: stored.protection,
                schema: stored.schema
            )
            content = .value(try codec.open(encoded, at: place(key)))
        }
        return Entry(
            content,
            freshUntil: now.instant(stored.fresh, longest: longest(stored.fresh, stored)),
            staleUntil: now.instant(stored.ends, longest: longest(stored.ends, stored)),
            storedAt: now.instant(stored.stored, longest: 0),
            version: stored.version,
            tags: stored.tags,
            fetchDuration: .microseconds(stored.took),
            origin: .disk
        )
    }

    /// Nothing lives longer than it was meant to, whatever the clock says now.
    private func longest(_ end: Int64, _ stored: StoredEntry) -> Int64 {
        let (length, overflow) = end.subtractingReportingOverflow(stored.stored)
        return overflow ? .max : max(0, length)
    }

    /// What is written for an entry, which gets a lifetime by the policy if it has none.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - now: The present time.
    ///   - keepsAge: Whether the entry was made when it says, and not now.
    /// - Returns: What is written, of a version of its own.
    /// - Throws: What the codec throws.
    func seal(
        _ entry: Entry<Value>,
        _ key: [UInt8],
        _ now: ClockReading,
        keepsAge: Bool = false
    ) throws -> StoredEntry {
        var (fresh, end) = (entry.freshUntil, entry.staleUntil)
        if fresh == .distantFuture, let freshness {
            let lifetimes = freshness.lifetimes(of: entry.content, fingerprint: XXH64.hash(key))
            fresh = now.monotonic.advanced(by: lifetimes.fresh)
            end = now.monotonic.advanced(by: lifetimes.kept)
        }
        let encoded = try entry.value.map { try codec.seal($0, at: place(key)) }
        return StoredEntry(
            kind: encoded == nil ? 1 : 0,
            codec: codec.identifier,
            compression: encoded?.compression ?? 0,
            protection: encoded?.protection ?? 0,
            schema: codec.schema,
            stored: keepsAge && entry.storedAt != .distantPast ? now.milliseconds(entry.storedAt) : now.wall,
            fresh: now.milliseconds(fresh),
            ends: now.milliseconds(end),
            took: entry.fetchDuration.saturatedNanoseconds / 1_000,
            version: .random(),
            tags: entry.tags,
            payload: encoded?.bytes ?? []
        )
    }

    /// What protections are bound to: the namespace, its end marked by its length, and the key.
    private func place(_ key: [UInt8]) -> [UInt8] {
        Array("disk \(namespace.utf8.count) \(namespace) ".utf8) + key
    }
}
#endif
