/// How old the values of a class of reads were when the reads began.
public struct StalenessDistribution: Sendable, Hashable {
    /// A point of the distribution: all but one in 10^nines reads lay within.
    public struct Point: Sendable, Hashable {
        /// How many nines: 3 stands for 99.9 %.
        public let nines: Int
        /// The age that so many reads did not exceed.
        public let within: Duration
    }

    /// How many reads there were that gave a genuine version, or absence.
    public let reads: Int
    /// How many of them gave a version that an invalidation, already returned, had made old.
    public let staleReads: Int
    /// The greatest age.
    public let worst: Duration
    /// One nine, two nines, and so on, as far as there are reads enough to tell.
    public let points: [Point]
}
