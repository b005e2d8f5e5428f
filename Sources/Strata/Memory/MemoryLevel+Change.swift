internal import Synchronization

extension MemoryLevel: AtomicLevel {
    /// The entry of a key, by its version.
    ///
    /// An entry that has no version gets one.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        let now = now
        let hash = hash(of: key)
        let number = partition(of: hash)
        let found: (entry: Entry<Value>?, version: EntryVersion)? = writer.withLock { writer in
            let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
            guard slot != 0 else { return nil }
            let version = writer.versioned(slot, readers)
            return (entry(in: slot, number, at: now), version)
        }
        var mark = ChangeMark(stamp: found?.version.bytes, takenAt: now)
        mark.isLive = found?.entry != nil
        return CurrentEntry(found?.entry, mark: mark)
    }

    /// Keeps an entry in the place of the one that was read, in one step.
    ///
    /// - Throws: ``CacheError/Code/conflict``; ``CacheError/Code/tooLarge`` when the entry alone exceeds the limit, and
    ///   then the old one stays.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        let now = now
        let hash = hash(of: key)
        // The seal is taken first: an invalidation that comes now voids the old entry, or the new one.
        let entry = entry.map { dated($0, at: now) }
        let weight = entry.map { measure.weight(of: $0) } ?? 0
        try makeRoom(weight)
        var departures = Departures()
        let outcome: (isDone: Bool, isCrowded: Bool) = writer.withLock { writer in
            writer.state.drain(readers)
            expire(&writer, at: now, &departures)
            guard holds(mark, key, hash, &writer, at: now), let ticket = mark.ticket() else { return (false, false) }
            if let entry {
                var slot = slot(for: entry, key, hash)
                if ticket != .none { slot.ticket = ticket }
                let metadata = slot.hasMetadata ? EntryMetadata(entry) : nil
                writer.put(slot, metadata, hash: hash, weight: weight, at: now, readers, &departures)
            } else {
                let (tag, number) = (tag(of: hash), partition(of: hash))
                writer.remove(key, tag: tag, number, because: .removed, readers, &departures)
            }
            publishNextLook(&writer)
            writer.state.check()
            return (true, measure.budget != nil && writer.state.isCrowded)
        }
        tell(departures)
        guard outcome.isDone else { throw CacheError.conflict }
        if outcome.isCrowded { askForMore(0) }
        return nil
    }

    /// Whether a key has what it had when a mark was taken; what was of no use then may be gone.
    private func holds(
        _ mark: ChangeMark,
        _ key: Key,
        _ hash: UInt64,
        _ writer: inout Writer,
        at now: MonotonicInstant
    ) -> Bool {
        let number = partition(of: hash)
        let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
        guard slot != 0 else { return !mark.isLive }
        guard writer.versioned(slot, readers).bytes == mark.stamp else { return false }
        return !mark.isLive || entry(in: slot, number, at: now) != nil
    }

    /// Gets a larger allowance from the budget for an entry that is larger than the present one.
    private func makeRoom(_ weight: Int) throws(CacheError) {
        let tooLarge = CacheError(code: .tooLarge, message: "the entry is larger than the memory level's limit")
        let total = total.load(ordering: .relaxed)
        guard total > 0 else { return }
        guard weight <= total, weight <= EvictionPolicy.maximumWeight else { throw tooLarge }
        guard measure.budget != nil else { return }
        let allowance = writer.withLock { $0.state.policy.limit }
        guard weight > allowance else { return }
        askForMore(weight - allowance)
        guard writer.withLock({ weight <= $0.state.policy.limit }) else { throw tooLarge }
    }
}
