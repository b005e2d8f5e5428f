/// The rule that no read waits for a value that no instance fetches.
///
/// A read may last as long as some instance fetches its key, and for ``limit`` beside that. A read that waits longer
/// waits for an instance that has left: for a lease whose holder is gone, or for news that is never sent. Reads of all
/// outcomes count, also those that fail, but not those of several keys at once (``ReadMarks/together``). A read is
/// excused when a fault lasted at any time of it, or within ``StalenessBounds/recovery`` before it. Of a time without a
/// fetch, what was one of ``StalenessChecker/hardships`` does not count.
public struct OrphanWaitRule: Sendable, Hashable {
    /// How long a read may last while no instance fetches its key, in one piece.
    public var limit: Duration
    /// How long a fetch counts as running whose end is not recorded, since its process was killed; 30 s by default.
    public var unfinished: Duration

    /// Makes the rule.
    ///
    /// - Parameters:
    ///   - limit: How long a read may last while no instance fetches its key, in one piece.
    ///   - unfinished: How long a fetch counts as running whose end is not recorded; 30 s by default.
    public init(limit: Duration, unfinished: Duration = .seconds(30)) {
        self.limit = limit
        self.unfinished = unfinished
    }
}
