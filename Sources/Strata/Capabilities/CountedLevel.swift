/// A level that knows the largest number of entries it can hold, and counts its hits before a composition judges them.
protocol CountedLevel: AnyObject, Sendable {
    /// Has a gate make room for as many keys, now and whenever the number grows.
    func reserveRoom(in gate: FillGate)

    /// What was found here and counted as a hit was not served: it is void, not to be relied on, or not what the read wants.
    ///
    /// - Parameter isMiss: Whether the read that has found it goes below; a first look is followed by a second one.
    func withdrawHit(isMiss: Bool)
}
