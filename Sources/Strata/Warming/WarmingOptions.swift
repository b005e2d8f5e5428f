/// How a cache is filled before readers ask: the size of the batches, the time limit, and the source.
///
/// ```swift
/// let report = try await products.warm(from: ids, WarmingOptions(limit: .seconds(5), reads: .cached))
/// ```
public struct WarmingOptions: Sendable, Hashable {
    /// How many keys are read by one lookup; within 1 to 10 000, 500 by default.
    public var batchSize: Int
    /// How many lookups run at the same time; within 1 to 64, 2 by default.
    public var concurrentBatches: Int
    /// When to stop, whatever is left; 30 seconds by default.
    public var limit: Duration
    /// How keys are read; by default like any read, which asks the source for values that no level has.
    ///
    /// ``ReadOptions/cached`` asks no source: memory then gets what levels below it hold, and no more.
    public var reads: ReadOptions

    /// Options, each with its default.
    public init(
        batchSize: Int = 500,
        concurrentBatches: Int = 2,
        limit: Duration = .seconds(30),
        reads: ReadOptions = .ordinary
    ) {
        self.batchSize = batchSize
        self.concurrentBatches = concurrentBatches
        self.limit = limit
        self.reads = reads
    }

    var usableBatchSize: Int { min(max(batchSize, 1), 10_000) }
    var usableConcurrency: Int { min(max(concurrentBatches, 1), 64) }
}
