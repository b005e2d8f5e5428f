extension CoherentLevel {
    /// Nothing can be told without suspending.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { nil }

    /// What can be told without suspending; no condition is known.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? { resident(key, at: now) }

    /// Nothing is under way that could be joined.
    @inlinable
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? { nil }

    /// Nothing is certain without suspending.
    @inlinable
    public func lacks(_ key: Key, isRead: Bool) -> Bool { false }

    /// None.
    public var gate: FillGate? { nil }

    /// The hash of the key: good within this process.
    @inlinable
    public func fingerprint(of key: Key) -> UInt64 {
        UInt64(truncatingIfNeeded: key.hashValue)
    }

    /// They do not.
    public var keepsTickets: Bool { false }
}
