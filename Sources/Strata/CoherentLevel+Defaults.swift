extension CoherentLevel {
    /// `nil`: the level answers only by suspending.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { nil }

    /// Asks ``resident(_:at:)``; the level has no conditions.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? { resident(key, at: now) }

    /// `nil`: there is no read to join.
    @inlinable
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? { nil }

    /// False: nothing is certain without asking.
    @inlinable
    public func lacks(_ key: Key, isRead: Bool) -> Bool { false }

    /// `nil`: the level does not hear of changes.
    public var gate: FillGate? { nil }

    /// The hash of the key, which holds within this process.
    @inlinable
    public func fingerprint(of key: Key) -> UInt64 {
        UInt64(truncatingIfNeeded: key.hashValue)
    }

    /// False.
    public var lacksSource: Bool { false }

    /// False.
    public var isStorage: Bool { false }

    /// The tags as they are.
    @inlinable
    public func stored(tags: [String]) -> [String] { tags }

    /// None.
    public var commonTags: [String] { [] }

    /// `nil`: an entry without a lifetime has no end.
    public var policy: FreshnessPolicy? { nil }

    /// `nil`: the level judges no lifetimes.
    public var clock: CacheClock? { nil }

    /// False.
    public var keepsTickets: Bool { false }

    /// False.
    public var writesSource: Bool { false }
}
