/// A level that knows the largest number of entries it can hold.
protocol CountedLevel {
    /// Has a gate make room for as many keys, now and whenever the number grows.
    func reserveRoom(in gate: FillGate)
}
