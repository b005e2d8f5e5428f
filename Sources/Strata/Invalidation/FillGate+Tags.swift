internal import Synchronization

// Tags have counters beside those of the keys, by the tag's fingerprint.
//
// Two rules close the race between an invalidation and an entry on its way up. First, an entry whose tags can be
// checked (by the numbers in Redis) is sealed *before* the check, and the numbers change *before* the counters do:
// whichever comes first, one of the two shows the invalidation. Second, an entry whose tags cannot be checked notes the
// count of `tagChanges` when it is asked for; it is kept only if the count is still the same when it is sealed.
extension FillGate {
    /// How often tags were invalidated, whichever.
    @usableFromInline
    package var tagChanges: UInt64 { tagChangeCount.load(ordering: .acquiring) }

    /// Voids every seal of these tags.
    ///
    /// O(tags).
    public func void(tags: [String]) {
        void(tagFingerprints: tags.map { TagName($0).fingerprint() })
    }

    /// Voids every seal of the tags with these fingerprints.
    package func void(tagFingerprints: [UInt64]) {
        guard !tagFingerprints.isEmpty else { return }
        // Comes first: this count shows that a seal is late that is taken after the counters have moved.
        tagChangeCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
        for fingerprint in tagFingerprints { void(apart(fingerprint), but: nil) }
    }

    /// A seal of these tags, taken before they are checked; `nil` for no tags.
    public func seal(_ tags: [String]) -> TagSeal? {
        tags.isEmpty ? nil : seal(tagFingerprints: tags.map { TagName($0).fingerprint() })
    }

    func seal(tagFingerprints: [UInt64], others: [TagSeal] = []) -> TagSeal {
        // Before the counters are read: what voids everything from now on is the reason for which the seal has ended.
        let voids = recentVoids.countOfAll
        var (slots, sum) = ([UInt32](), UInt64(0))
        slots.reserveCapacity(tagFingerprints.count)
        for fingerprint in tagFingerprints {
            // The count of the very word that the tag has: one that is read later may be another's by then, and tell
            // nothing.
            let (slot, word) = place(of: apart(fingerprint))
            slots.append(UInt32(truncatingIfNeeded: slot))
            sum &+= word & Self.countMask
        }
        return TagSeal(self, slots: slots, sum: sum, voids: voids, others: others)
    }

    func slots(_ fingerprints: [UInt64]) -> [UInt32] {
        fingerprints.map { UInt32(truncatingIfNeeded: place(of: apart($0)).slot) }
    }

    /// In a gate with parts tags have their counters apart from keys': they belong to no part, and are voided with
    /// none.
    private func apart(_ fingerprint: UInt64) -> UInt64 { parts == 1 ? fingerprint : fingerprint | UInt64(parts) }

    func sum(ofSlots slots: [UInt32]) -> UInt64 {
        var sum: UInt64 = 0
        let now = generation.load(ordering: .relaxed)
        for slot in slots {
            let word = unsafe counters[Int(slot)].load(ordering: .acquiring)
            if word >> Self.generationShift != now { use(Int(slot), word) }
            sum &+= word & Self.countMask
        }
        return sum
    }

    /// The highest invalidation number of the level that this process knows, for a key; 0 for a level without numbers.
    ///
    /// What is fetched bears the number that stood when its fetch began. One that lags behind is safe: it only costs a
    /// fetch.
    ///
    /// - Parameter fingerprint: The key's fingerprint: a level may number the invalidations of its parts separately.
    /// - Returns: The number.
    package func sequence(for fingerprint: UInt64) -> UInt64 { sequence(ofPart: part(of: fingerprint)) }

    /// The same for a part.
    package func sequence(ofPart part: Int) -> UInt64 { unsafe sequences[part & partMask].load(ordering: .acquiring) }

    /// Sets the number of a part.
    ///
    /// It falls only when a higher number turns out to be forged. No entry with a number above the level's own is
    /// valid.
    package func setSequence(_ number: UInt64, ofPart part: Int = 0) {
        unsafe sequences[part & partMask].store(number, ordering: .releasing)
    }
}
