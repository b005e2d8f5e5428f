/// How a cache writes to its source later: how soon, how many at once, and how much may wait.
///
/// | setting | default | why |
/// |---|---|---|
/// | delay | 100 ms | long enough to coalesce the writes of a burst, short enough to lose little at a crash |
/// | batch | 100 | one statement of a database |
/// | concurrency | 4 | some statements at once, and connections left for others |
/// | limit | 10 000 | what a crash costs at most |
/// | costLimit | none | only you know what a value costs |
/// | waitLimit | 1 s | a caller learns that the source cannot keep up, and does not wait for ever |
/// | timeout | 10 s | a write that hangs must not hold up others |
/// | backOff | 100 ms … 5 s | a failing source is asked ever more rarely |
/// | givenUpAfter | 60 s | a restart of the source passes unnoticed; a longer outage needs a person |
///
/// Numbers below one count as one, times below zero as zero.
public struct WriteBehindOptions: Sendable {
    /// How long a write waits for others to go with it, at most; a full batch goes at once.
    public var delay: Duration
    /// How many keys go to the source by one call, where it takes several.
    public var batch: Int
    /// How many calls of the source may run at once; one that does not end when it is cancelled counts for three
    /// seconds more.
    public var concurrency: Int
    /// How many keys may have writes that the source has not got.
    public var limit: Int
    /// How much the values of these writes may cost; `nil` for no limit.
    ///
    /// A value that costs more than all of it waits until it is alone.
    public var costLimit: Int?
    /// How long a caller waits for room when there is none.
    public var waitLimit: Duration
    /// How long one call of the source may take; then it is cancelled, and has failed.
    public var timeout: Duration
    /// How long a write that has failed waits for the next attempt; doubled each time, less a random part of up to
    /// half.
    public var backOff: ClosedRange<Duration>
    /// How long a write is tried; then it is given up.
    ///
    /// Its value lives in the cache for at least this time and ``timeout``.
    public var givenUpAfter: Duration
    /// Whether an error may pass by itself.
    ///
    /// After one that may not, a batch is tried again at once in halves, and a single write is given up.
    public var isTransient: @Sendable (any Error) -> Bool

    /// Options, each with its default.
    public init(
        delay: Duration = .milliseconds(100),
        batch: Int = 100,
        concurrency: Int = 4,
        limit: Int = 10_000,
        costLimit: Int? = nil,
        waitLimit: Duration = .seconds(1),
        timeout: Duration = .seconds(10),
        backOff: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5),
        givenUpAfter: Duration = .seconds(60),
        isTransient: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) {
        self.delay = delay
        self.batch = batch
        self.concurrency = concurrency
        self.limit = limit
        self.costLimit = costLimit
        self.waitLimit = waitLimit
        self.timeout = timeout
        self.backOff = backOff
        self.givenUpAfter = givenUpAfter
        self.isTransient = isTransient
    }

    /// How long a value lives in the cache at least.
    ///
    /// An instant a century ahead could not be told from "has no lifetime".
    var shortestLife: Duration { inRange.givenUpAfter + inRange.timeout }

    /// The options with every number in its range.
    var inRange: WriteBehindOptions {
        var options = self
        options.delay = max(delay, .zero)
        options.batch = max(batch, 1)
        options.concurrency = max(concurrency, 1)
        options.limit = max(limit, 1)
        options.costLimit = costLimit.map { max($0, 1) }
        options.waitLimit = max(waitLimit, .zero)
        options.timeout = min(max(timeout, .milliseconds(1)), EntryLifetime.longest)
        options.backOff = max(backOff.lowerBound, .milliseconds(1))...max(backOff.upperBound, .milliseconds(1))
        options.givenUpAfter = min(max(givenUpAfter, .zero), EntryLifetime.longest)
        return options
    }
}
