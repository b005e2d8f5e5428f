internal import Synchronization

// Tags have their counters beside the keys', found by a tag's fingerprint.
//
// Two things close the race between an invalidation and an entry on its way up. An entry whose tags are checked against
// something (the numbers at Redis) is sealed *before* the check, and what it is checked against changes *before* the counters
// do: whatever the order of the two, one of them tells. An entry whose tags nobody can check was asked for at a certain count
// of `tagChanges`; it is sealed, and kept if the count has not moved.
extension FillGate {
    /// How often tags were invalidated, whichever.
    public var tagChanges: UInt64 { tagChangeCount.load(ordering: .acquiring) }

    /// Voids every seal of these tags.
    ///
    /// O(tags).
    public func void(tags: [String]) {
        void(tagFingerprints: tags.map { TagName($0).fingerprint() })
    }

    /// Voids every seal of the tags with these fingerprints.
    package func void(tagFingerprints: [UInt64]) {
        guard !tagFingerprints.isEmpty else { return }
        // First: a seal that is taken after the counters have moved is seen to be late by this one.
        tagChangeCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
        for fingerprint in tagFingerprints { void(apart(fingerprint)) }
    }

    /// A seal of these tags, to be taken before they are checked; `nil` for no tags.
    public func seal(_ tags: [String]) -> TagSeal? {
        tags.isEmpty ? nil : seal(tagFingerprints: tags.map { TagName($0).fingerprint() })
    }

    func seal(tagFingerprints: [UInt64], others: [TagSeal] = []) -> TagSeal {
        TagSeal(self, slots: slots(tagFingerprints), others: others)
    }

    func slots(_ fingerprints: [UInt64]) -> [UInt32] {
        fingerprints.map { UInt32(truncatingIfNeeded: place(of: apart($0)).slot) }
    }

    /// In a gate with parts tags have their counters apart from keys': they belong to no part, and are voided with none.
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

    /// The highest number of the level's invalidations that this process knows, for a key; 0 where they have none.
    ///
    /// What is fetched bears the number that stood when its fetch began. One that lags behind is safe: it only costs a fetch.
    ///
    /// - Parameter fingerprint: The key's: a level may number the invalidations of its parts apart.
    /// - Returns: The number.
    public func sequence(for fingerprint: UInt64) -> UInt64 { sequence(ofPart: part(of: fingerprint)) }

    /// The same of a part.
    package func sequence(ofPart part: Int) -> UInt64 { unsafe sequences[part & partMask].load(ordering: .acquiring) }

    /// Sets the number of a part.
    ///
    /// It sinks only where a higher one turns out to have been made up: nothing is valid that bears one above the level's own.
    package func setSequence(_ number: UInt64, ofPart part: Int = 0) {
        unsafe sequences[part & partMask].store(number, ordering: .releasing)
    }
}
