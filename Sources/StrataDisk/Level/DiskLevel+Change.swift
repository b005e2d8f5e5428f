#if Disk
public import Strata

extension DiskLevel: AtomicLevel {
    /// The entry of a key in the file, no matter which process wrote it.
    ///
    /// One read.
    ///
    /// - Throws: As ``entry(for:_:)``; ``/Strata/CacheError/Code/codec`` for a value with a higher schema number, which
    ///   is left alone.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        let start = wall.now().monotonic
        let bytes = key.keyBytes
        return try await counting {
            let found = try await space.find(bytes)
            let entry = try await open(found, bytes)
            // A damaged row was removed just now.
            guard case .entry(let stored) = found else {
                return CurrentEntry(nil, mark: ChangeMark(stamp: nil, takenAt: start))
            }
            try refuse(stored, at: wall.now())
            return CurrentEntry(entry, mark: ChangeMark(stamp: stored.version.bytes, takenAt: start))
        }
    }

    /// Replaces or removes the entry that was read, if it is still there, in one transaction.
    ///
    /// - Throws: ``/Strata/CacheError/Code/conflict``; ``/Strata/CacheError/Code/tooLarge``, and then the old entry
    ///   stays; ``DiskError/Code/noRoom`` if the level does not evict; the errors of ``store(_:for:)``.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        let bytes = key.keyBytes
        let now = wall.now()
        let stored = try entry.map { try seal($0, bytes, now) }
        let version = mark.stamp.flatMap { EntryVersion(bytes: $0) }
        do {
            let written = try await counting { try await space.exchange(stored, bytes, for: version, now: now.wall) }
            guard let written else { throw CacheError.conflict }
            if let stored, space.whenFull == .sweep { noteFullness(written, of: stored.size(bytes)) }
        } catch let error as DiskError where error.code == .noRoom {
            if space.whenFull == .sweep { sweep() }
            throw error
        }
        return nil
    }

    /// Gives an existing value another lifetime, in one write transaction.
    ///
    /// The value is read, but neither decoded nor written again.
    ///
    /// - Throws: ``/Strata/CacheError/Code/codec`` for a value with a higher schema number, which is left alone;
    ///   ``DiskError``; `CancellationError`.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        let bytes = key.keyBytes
        return try await counting {
            try await space.change(bytes) { stored in
                let now = wall.now()
                try refuse(stored, at: now)
                return relived(stored, bytes, change, now)
            }
        }
    }

    /// Refuses to change what a newer release has written; one whose time is over is none for it, either.
    private func refuse(_ stored: StoredEntry, at now: ClockReading) throws {
        guard isInTime(stored, now), stored.schema > codec.schema else { return }
        throw CacheError(code: .codec, message: "a newer release has written the value; it is not changed")
    }
}
#endif
