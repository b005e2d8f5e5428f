#if Disk
internal import Strata

extension DiskLevel {
    /// A clock that steps back by less than this is being corrected, not set.
    private static var tolerance: Int64 { 2_000 }

    /// What was found, as an entry; `nil` when it is over.
    func entry(of stored: StoredEntry, _ key: [UInt8]) throws(UnreadableValue) -> Entry<Value>? {
        let now = wall.now()
        guard isInTime(stored, now) else { return nil }
        if stored.kind == 1 {
            try codec.openAbsence(EncodedValue(stored), at: place(key))
            return entry(of: stored, .absent, now)
        }
        return entry(of: stored, .value(try codec.open(EncodedValue(stored), at: place(key))), now)
    }

    /// What is kept in the place of a value whose lifetime changes; `nil` if there is none, or it is not to be kept.
    func relived(_ stored: StoredEntry, _ key: [UInt8], _ change: LifetimeChange, _ now: ClockReading) -> StoredEntry? {
        guard stored.kind == 0, isInTime(stored, now), (try? codec.check(EncodedValue(stored))) != nil,
            let changed = change.applied(
                to: entry(of: stored, .absent, now),
                at: now.monotonic,
                by: freshness,
                fingerprint: XXH64.hash(key)
            )
        else { return nil }
        var relived = stored
        relived.version = .random()
        relived.fresh = now.milliseconds(changed.freshUntil)
        relived.ends = now.milliseconds(changed.staleUntil)
        return relived
    }

    func isInTime(_ stored: StoredEntry, _ now: ClockReading) -> Bool {
        guard stored.ends > now.wall else { return false }
        // What is fresh without end outlives none by a clock that was set back.
        return stored.stored <= now.wall + Self.tolerance || stored.fresh >= DiskSpace.expirableEnd(stored.stored)
    }

    private func entry(
        of stored: StoredEntry,
        _ content: Entry<Value>.Content,
        _ now: ClockReading
    ) -> Entry<Value> {
        var entry = Entry(
            content,
            freshUntil: now.instant(stored.fresh, longest: longest(stored.fresh, stored)),
            staleUntil: now.instant(stored.ends, longest: longest(stored.ends, stored)),
            storedAt: now.instant(stored.stored, longest: 0),
            version: stored.version,
            tags: stored.tags,
            fetchDuration: .microseconds(stored.took),
            origin: .disk
        )
        freshness?.complete(&entry)
        return entry
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
    /// - Returns: What is written, of the version that the entry has below, or of one of its own.
    /// - Throws: What the codec throws.
    func seal(
        _ entry: Entry<Value>,
        _ key: [UInt8],
        _ now: ClockReading
    ) throws -> StoredEntry {
        let (fresh, end) = ends(of: entry, key, now)
        let encoded = try entry.value.map { try codec.seal($0, at: place(key)) } ?? codec.sealAbsence(at: place(key))
        // What a level below has is the same write here: by its version the levels around know it again.
        let hasVersion = entry.version != .none && (entry.isFill || entry.hasNewVersion)
        return StoredEntry(
            kind: entry.value == nil ? 1 : 0,
            codec: codec.identifier,
            compression: encoded.compression,
            protection: encoded.protection,
            schema: codec.schema,
            // What comes from a level below is as old as it was there.
            stored: entry.storedAt == .distantPast ? now.wall : min(now.wall, now.milliseconds(entry.storedAt)),
            fresh: now.milliseconds(fresh),
            ends: now.milliseconds(end),
            took: entry.fetchDuration.saturatedNanoseconds / 1_000,
            version: hasVersion ? entry.version : .random(),
            tags: entry.tags,
            payload: encoded.bytes
        )
    }

    /// Until when an entry is fresh, and kept; by the policy if it has no lifetime.
    private func ends(
        of entry: Entry<Value>,
        _ key: [UInt8],
        _ now: ClockReading
    ) -> (MonotonicInstant, MonotonicInstant) {
        guard entry.freshUntil == .distantFuture, let freshness else { return (entry.freshUntil, entry.staleUntil) }
        let lifetimes = freshness.lifetimes(of: entry.content, fingerprint: XXH64.hash(key))
        return (now.monotonic.advanced(by: lifetimes.fresh), now.monotonic.advanced(by: lifetimes.kept))
    }

    /// What protections are bound to: the namespace, its end marked by its length, and the key.
    private func place(_ key: [UInt8]) -> [UInt8] {
        Array("disk \(namespace.utf8.count) \(namespace) ".utf8) + key
    }
}
extension EncodedValue {
    /// The value of a row.
    fileprivate init(_ stored: StoredEntry) {
        self.init(
            bytes: stored.payload,
            codec: stored.codec,
            compression: stored.compression,
            protection: stored.protection,
            schema: stored.schema
        )
    }
}
#endif
