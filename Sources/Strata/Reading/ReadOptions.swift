/// How one read differs from an ordinary one.
///
/// ```swift
/// let price = try await prices.get(id, .fresh)
/// let banner = try await banners.get(id, .cached.with(staleness: .allowed))
/// let report = try await reports.get(id, ReadOptions(maximumAge: .seconds(5)))
/// let teaser = try await teasers.get(id, ReadOptions(hardTimeout: .milliseconds(200), priority: .background))
/// ```
public struct ReadOptions: Sendable, Hashable {
    /// What a read does with stale values.
    public enum Staleness: Sendable, Hashable {
        /// As the policy says.
        case byPolicy
        /// Does not serve them. Without a fresh value the read fails; it is a miss when the source must not be asked.
        case never
        /// Serves them at once for as long as they are kept, and fetches them anew in the background.
        case allowed
    }

    /// When the source is asked.
    public enum SourceUse: Sendable, Hashable {
        /// When no level has a value that may be served.
        case whenMissing
        /// Never: a value that no level has is a miss.
        case never
        /// Always; its value replaces what levels hold. The read joins a running fetch of the key. See
        /// ``ReadOptions/reload``.
        case always
    }

    /// What the read does with stale values.
    public var staleness: Staleness
    /// When the source is asked.
    public var source: SourceUse
    /// The age beyond which a value does not count as fresh, even within its own lifetime.
    ///
    /// An entry whose age is not known counts as too old. One that is too old is not served when the source fails
    /// either.
    public var maximumAge: Duration?
    /// Levels that the read does not ask, for example ``EntryOrigin/memory``.
    public var skipsReading: Set<EntryOrigin>
    /// Levels that the read does not fill with what it finds below them.
    public var skipsFilling: Set<EntryOrigin>

    /// The options that few reads set; `nil` for none.
    ///
    /// In one object, since a read is copied on its way down through the levels.
    var fetchOptions: FetchOptions?

    /// Options, by default those of an ordinary read.
    public init(
        staleness: Staleness = .byPolicy,
        source: SourceUse = .whenMissing,
        maximumAge: Duration? = nil,
        skipsReading: Set<EntryOrigin> = [],
        skipsFilling: Set<EntryOrigin> = [],
        softTimeout: Duration? = nil,
        hardTimeout: Duration? = nil,
        priority: TaskPriority? = nil,
        tags: [String] = [],
        lifetime: EntryLifetime = .byPolicy,
        waitsForOthers: Bool = true
    ) {
        self.staleness = staleness
        self.source = source
        self.maximumAge = maximumAge
        self.skipsReading = skipsReading
        self.skipsFilling = skipsFilling
        fetchOptions = FetchOptions(
            softTimeout: softTimeout,
            hardTimeout: hardTimeout,
            priority: priority,
            tags: tags,
            lifetime: lifetime,
            waitsForOthers: waitsForOthers
        )
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
    /// When the source fails, so does the read; where the policy allows it (``FreshnessPolicy/staleIfError``), the old
    /// value is served instead, and the read's trace says why. With ``Staleness/never`` the read fails in any case.
    public static var reload: ReadOptions { ReadOptions(source: .always) }

    /// The same options with another staleness.
    public func with(staleness: Staleness) -> ReadOptions {
        var options = self
        options.staleness = staleness
        return options
    }
}
