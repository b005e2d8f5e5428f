/// A level that knows how many entries it holds at most.
protocol CountedLevel {
    /// How many entries the level holds at most.
    var entryLimit: Int { get }
}
