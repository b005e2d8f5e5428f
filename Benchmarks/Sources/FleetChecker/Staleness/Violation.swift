/// A broken promise, with what is needed to look for its cause.
public struct Violation: Sendable, Hashable, CustomStringConvertible {
    /// Which promise was broken.
    public let kind: ViolationKind
    /// The key.
    public let key: Int
    /// The instance that read or fetched.
    public let instance: String
    /// When the read or the fetch began, counted from the history's first event.
    public let start: Duration
    /// The version that came; 0 for a value that belongs to no version.
    public let version: UInt64
    /// How old it was, for the kinds that are about age.
    public let staleness: Duration?
    /// The whole story in one sentence.
    public let description: String

    init(
        _ kind: ViolationKind,
        key: UInt32,
        instance: String,
        start: UInt64,
        version: UInt64,
        staleness: UInt64?,
        description: String
    ) {
        self.kind = kind
        self.key = Int(key)
        self.instance = instance
        self.start = .nanoseconds(Int64(clamping: start))
        self.version = version
        self.staleness = staleness.map { .nanoseconds(Int64(clamping: $0)) }
        self.description = description
    }
}
