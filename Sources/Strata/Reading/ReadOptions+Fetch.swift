/// What a read says about the fetch that it begins, and about waiting for one.
///
/// An object that does not change: options are copied often, and few of them set any of this.
final class FetchOptions: Sendable {
    let softTimeout: Duration?
    let hardTimeout: Duration?
    let priority: TaskPriority?
    let tags: [String]
    let lifetime: EntryLifetime
    let waitsForOthers: Bool

    /// - Returns: `nil` when nothing is said.
    init?(
        softTimeout: Duration? = nil,
        hardTimeout: Duration? = nil,
        priority: TaskPriority? = nil,
        tags: [String] = [],
        lifetime: EntryLifetime = .byPolicy,
        waitsForOthers: Bool = true
    ) {
        let isSilent = softTimeout == nil && hardTimeout == nil && priority == nil && tags.isEmpty && waitsForOthers
        if isSilent && lifetime == .byPolicy { return nil }
        self.softTimeout = softTimeout
        self.hardTimeout = hardTimeout
        self.priority = priority
        self.tags = tags
        self.lifetime = lifetime
        self.waitsForOthers = waitsForOthers
    }
}

extension FetchOptions: Hashable {
    static func == (one: FetchOptions, other: FetchOptions) -> Bool {
        one === other
            || one.softTimeout == other.softTimeout && one.hardTimeout == other.hardTimeout
                && one.priority == other.priority && one.tags == other.tags && one.lifetime == other.lifetime
                && one.waitsForOthers == other.waitsForOthers
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(softTimeout)
        hasher.combine(hardTimeout)
        hasher.combine(priority?.rawValue)
        hasher.combine(tags)
        hasher.combine(lifetime)
        hasher.combine(waitsForOthers)
    }
}

// They concern reads that a level with a place for fetches answers: a ``Source``, or `fetching` above Redis.
extension ReadOptions {
    /// How long the read waits for a fetch when there is a stale value to serve, counted from the start of the fetch;
    /// `nil` for as long as the policy says (``FreshnessPolicy/softTimeout``).
    ///
    /// The fetch goes on in the background.
    public var softTimeout: Duration? {
        get { fetchOptions?.softTimeout }
        set { say(softTimeout: .some(newValue)) }
    }

    /// How long the read waits for a fetch in any case; `nil` for as long as the policy says
    /// (``FreshnessPolicy/hardTimeout``).
    ///
    /// Then the caller gets a stale value, or ``CacheError/Code/timeout``. The fetch goes on in the background.
    public var hardTimeout: Duration? {
        get { fetchOptions?.hardTimeout }
        set { say(hardTimeout: .some(newValue)) }
    }

    /// The priority of the fetch that the read begins; `nil` for that of its caller.
    ///
    /// Readers of higher priority that join the fetch raise it.
    public var priority: TaskPriority? {
        get { fetchOptions?.priority }
        set { say(priority: .some(newValue)) }
    }

    /// Tags for the value that the read fetches, besides those that its source names.
    ///
    /// A read that joins a running fetch adds none.
    public var tags: [String] {
        get { fetchOptions?.tags ?? [] }
        set { say(tags: newValue) }
    }

    /// How long a value that the read fetches lives; by default what its source and the policy say.
    ///
    /// With a freshness of zero or less the caller gets the value and no level keeps it. An absence lives as long as
    /// the source and the policy say. A read that joins a running fetch changes nothing.
    public var lifetime: EntryLifetime {
        get { fetchOptions?.lifetime ?? .byPolicy }
        set { say(lifetime: newValue) }
    }

    /// Whether the read waits for a fetch that another read has begun, in this process or in another; true by default.
    ///
    /// A read that does not wait gets a stale value where the policy allows that; otherwise it asks the source beside
    /// the other fetch. Levels that others share do not store what it gets then: only the holder of the lease stores.
    /// Where no fetch is running, it fetches under the lease like any read, and others may wait for it.
    public var waitsForOthers: Bool {
        get { fetchOptions?.waitsForOthers ?? true }
        set { say(waitsForOthers: newValue) }
    }

    /// The options of the read that hold for a fetch that it begins in the background.
    package var ofRefresh: ReadOptions {
        guard fetchOptions != nil else { return ReadOptions() }
        return ReadOptions(priority: priority, tags: tags, lifetime: lifetime)
    }

    private mutating func say(
        softTimeout: Duration?? = nil,
        hardTimeout: Duration?? = nil,
        priority: TaskPriority?? = nil,
        tags: [String]? = nil,
        lifetime: EntryLifetime? = nil,
        waitsForOthers: Bool? = nil
    ) {
        fetchOptions = FetchOptions(
            softTimeout: softTimeout ?? self.softTimeout,
            hardTimeout: hardTimeout ?? self.hardTimeout,
            priority: priority ?? self.priority,
            tags: tags ?? self.tags,
            lifetime: lifetime ?? self.lifetime,
            waitsForOthers: waitsForOthers ?? self.waitsForOthers
        )
    }
}

extension FreshnessPolicy {
    /// How long a read waits for a fetch.
    ///
    /// - Parameters:
    ///   - request: The read.
    ///   - hasFallback: Whether there is a stale value to serve when that is over; by default what the read says.
    /// - Returns: The limits.
    package func waitLimit(_ request: ReadRequest, hasFallback: Bool? = nil) -> WaitLimit {
        WaitLimit(
            sinceJoining: request.options.hardTimeout ?? hardTimeout,
            sinceStart: hasFallback ?? request.hasFallback ? request.options.softTimeout ?? softTimeout : nil
        )
    }
}
