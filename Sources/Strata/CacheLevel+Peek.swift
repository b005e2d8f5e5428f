extension CacheLevel {
    /// The fresh value that this process's memory has of a key, at once.
    ///
    /// No level below memory is asked, and no refresh begins. A stale value, an absence, and a value whose early
    /// refresh is due count as none, and so does what a change elsewhere has voided. So `nil` does not say that a
    /// `get` finds nothing.
    ///
    /// A value that is found counts as a hit and as a use of its entry, as in a `get`; one that is not counts as
    /// nothing, unless a condition or a transformation above memory refuses what memory has found.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; `nil` when memory has none, and always where there is no memory level on top.
    @inlinable
    public func peek(_ key: Key) -> Value? { resident(key, at: .coarse)?.value }
}
