/// How long one entry is good for, where its source or its writer knows better than the policy.
public struct EntryLifetime: Sendable, Hashable {
    /// How long it is served without question; `nil` leaves that to the policy.
    ///
    /// Zero or less: the entry is handed to whoever asked and not kept. More than a hundred years counts as a hundred years.
    public var freshFor: Duration?
    /// How long it is kept beyond that, to be served as stale; `nil` leaves that to the policy.
    ///
    /// Less than zero counts as zero.
    public var staleFor: Duration?

    /// A lifetime.
    public init(freshFor: Duration? = nil, staleFor: Duration? = nil) {
        self.freshFor = freshFor
        self.staleFor = staleFor
    }

    /// Beyond a hundred years a lifetime makes no difference; it is cut there so that sums of times stay in range.
    package static let longest = Duration.seconds(100 * 365 * 86_400)

    /// What the policy says.
    public static var byPolicy: EntryLifetime { EntryLifetime() }

    /// Whether the entry is not to be kept at all.
    package var isNone: Bool { freshFor.map { $0 <= .zero } ?? false }
}
