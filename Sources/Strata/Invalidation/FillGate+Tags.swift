internal import Synchronization

// Tags have their counters beside the keys', found by a tag's fingerprint.
//
// Two things close the race between an invalidation and an entry on its way up. An entry whose tags are checked against
// something (the numbers at Redis) is sealed *before* the check, and what it is checked against changes *before* the
// counters do: whatever the order of the two, one of them tells. An entry whose tags nobody can check was asked for at
// a certain count of `tagChanges`; it is sealed, and kept if the count has not moved.
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
        for fingerprint in tagFingerprints { void(fingerprint) }
    }

    /// A seal of these tags, to be taken before they are checked; `nil` for no tags.
    public func seal(_ tags: [String]) -> TagSeal? {
        tags.isEmpty ? nil : seal(tagFingerprints: tags.map { TagName($0).fingerprint() })
    }

    func seal(tagFingerprints: [UInt64], others: [TagSeal] = []) -> TagSeal {
        TagSeal(self, slots: slots(tagFingerprints), others: others)
    }

    func slots(_ fingerprints: [UInt64]) -> [UInt32] {
        fingerprints.map { UInt32(truncatingIfNeeded: place(of: $0).slot) }
    }

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

    /// The highest number of the level's invalidations that this process knows; 0 where they have none.
    ///
    /// What is fetched bears the number that stood when its fetch began. One that lags behind is safe: it only costs a
    /// fetch.
    public var sequence: UInt64 { lastSequence.load(ordering: .acquiring) }

    /// Sets the number.
    ///
    /// It sinks only where a higher one turns out to have been made up: nothing is valid that bears one above the
    /// level's own.
    package func setSequence(_ number: UInt64) {
        lastSequence.store(number, ordering: .releasing)
    }
}
