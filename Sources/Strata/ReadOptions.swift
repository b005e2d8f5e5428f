/// What one read wants to have otherwise than usual.
///
/// ```swift
/// let price = try await prices.get(id, .fresh)
/// let banner = try await banners.get(id, .cached.with(staleness: .allowed))
/// let report = try await reports.get(id, ReadOptions(maximumAge: .seconds(5)))
/// ```
public struct ReadOptions: Sendable, Hashable {
    /// What is done with values past their freshness.
    public enum Staleness: Sendable, Hashable {
        /// What the policy says.
        case byPolicy
        /// They are not served: where no fresh value is to be had, the read fails.
        case never
        /// They are served at once for as long as they are kept, and fetched anew in the background.
        case allowed
    }

    /// When the source is asked.
    public enum SourceUse: Sendable, Hashable {
        /// When no level has a value that may be served.
        case whenMissing
        /// Never: what no level has is a miss.
        case never
        /// Always; what it gives replaces what levels hold. A fetch of the key that is under way is joined. See
        /// ``ReadOptions/reload``.
        case always
    }

    /// What is done with values past their freshness.
    public var staleness: Staleness
    /// When the source is asked.
    public var source: SourceUse
    /// The age beyond which a value does not count as fresh, also where its own lifetime is longer.
    ///
    /// An entry whose age is not known counts as too old. One that is too old is not served when the source fails either.
    public var maximumAge: Duration?
    /// Levels that are not asked, for example ``EntryOrigin/memory``.
    public var skipsReading: Set<EntryOrigin>
    /// Levels that are not filled with what this read finds below them.
    public var skipsFilling: Set<EntryOrigin>

    /// Options, by default those of an ordinary read.
    public init(
        staleness: Staleness = .byPolicy,
        source: SourceUse = .whenMissing,
        maximumAge: Duration? = nil,
        skipsReading: Set<EntryOrigin> = [],
        skipsFilling: Set<EntryOrigin> = []
    ) {
        self.staleness = staleness
        self.source = source
        self.maximumAge = maximumAge
        self.skipsReading = skipsReading
        self.skipsFilling = skipsFilling
    }

    /// An ordinary read.
    public static var ordinary: ReadOptions { ReadOptions() }
    /// Fresh values only.
    public static var fresh: ReadOptions { ReadOptions(staleness: .never) }
    /// Only what some level holds; the source is not asked.
    public static var cached: ReadOptions { ReadOptions(source: .never) }
    /// Whatever some level holds, however stale, at once; the source when there is nothing.
    public static var stale: ReadOptions { ReadOptions(staleness: .allowed) }
    /// From the source, replacing what levels hold.
    ///
    /// When the source fails, so does the read; where the policy has a window for that
    /// (``FreshnessPolicy/staleIfError``), what levels hold is served instead, and the read's trace says why. With
    /// ``Staleness/never`` the read fails in any case.
    public static var reload: ReadOptions { ReadOptions(source: .always) }

    /// The same options with another staleness.
    public func with(staleness: Staleness) -> ReadOptions {
        var options = self
        options.staleness = staleness
        return options
    }
}
