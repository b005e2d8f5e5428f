extension MemoryLevel {
    /// Forgets every entry that bears one of these tags.
    ///
    /// The entries are void at once, and leave when they are replaced or evicted, or their time is over. O(tags).
    ///
    /// - Throws: ``CacheError/Code/invalidTags``.
    public func invalidate(tags: [String]) async throws {
        try TagLimits.checkLengths(tags)
        MemoryTags.gate.void(tagFingerprints: fingerprints(of: tags))
    }

    /// The entry with a seal of this level, beside one that it has already.
    @usableFromInline
    func sealed(_ entry: Entry<Value>) -> Entry<Value> {
        guard !entry.tags.isEmpty else { return entry }
        let fingerprints = fingerprints(of: entry.tags)
        let gate = MemoryTags.gate
        // It may have been taken from here.
        if let seal = entry.seal, seal.covers(gate, slots: gate.slots(fingerprints)) { return entry }
        var entry = entry
        entry.seal = gate.seal(tagFingerprints: fingerprints, others: entry.seal.map { [$0] } ?? [])
        return entry
    }

    private func fingerprints(of tags: [String]) -> [UInt64] {
        let seed = UInt64(UInt(bitPattern: ObjectIdentifier(self)))
        return tags.map { TagName($0).fingerprint(seed: seed) }
    }
}

/// The counters of the tags in all memory levels of the process, made with the first tag.
///
/// Levels have different fingerprints for a tag. Where two share a counter all the same, they are voided together.
private enum MemoryTags {
    static let gate = FillGate()
}
