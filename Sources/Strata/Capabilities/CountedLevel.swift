/// A level that knows the largest number of entries it can hold, and counts its hits before a composition judges them.
protocol CountedLevel: AnyObject, Sendable {
    /// Makes a gate reserve room for as many keys, now and whenever the number grows.
    func reserveRoom(in gate: FillGate)

    /// An entry that was found here and counted as a hit was not served: it is void, not reliable, or not what the read
    /// wants.
    ///
    /// - Parameter isMiss: Whether the read that has found it goes below; a first look is followed by a second one.
    func withdrawHit(isMiss: Bool)
}
