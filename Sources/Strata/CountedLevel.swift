/// A level that knows the largest number of entries it can hold.
protocol CountedLevel {
    /// The largest number of entries.
    var entryLimit: Int { get }
}
