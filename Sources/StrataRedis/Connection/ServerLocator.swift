internal import Strata

/// Finds out to which server the connections of a client lead, where that is not fixed.
///
/// Lives on the I/O thread, as everything that asks it.
protocol ServerLocator: AnyObject {
    /// Its own sockets, which come first in each round.
    func drivers(for thread: LoopThread) -> [any LoopDriver]

    /// Asks for the server, or joins the search that is under way.
    ///
    /// Returns the search's number.
    func search(now: MonotonicInstant) -> UInt64

    /// What a search has found; `nil` while it runs.
    func outcome(of search: UInt64) -> Result<RedisEndpoint, RedisError>?

    /// Whether Sentinels have named the server as their primary.
    var namesPrimaries: Bool { get }

    /// Counts the servers that were found one after the other: connections to an earlier one are to be left.
    var generation: UInt64 { get }

    /// Whether there is reason to believe that the server is another by now: nothing is sent to it meanwhile, and
    /// nothing taken from it. It lasts for a moment, and every driver is asked again when it ends.
    var isInDoubt: Bool { get }

    /// Changes when an attempt to connect is worth more than it was: the wait for the next one ends.
    var news: UInt64 { get }
}

/// What one driver has heard of a locator.
struct LocatorNews {
    private var seen: UInt64 = 0

    /// Whether there is something new.
    func isNews(_ locator: any ServerLocator) -> Bool { locator.news != seen }

    /// Whether there was something new, which is taken note of.
    mutating func take(_ locator: any ServerLocator) -> Bool {
        defer { seen = locator.news }
        return locator.news != seen
    }
}
