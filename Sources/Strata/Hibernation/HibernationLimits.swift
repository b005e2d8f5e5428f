/// How much of memory is written to a file, and how long that may take.
public struct HibernationLimits: Sendable, Hashable {
    /// The most entries, the hottest first; `nil`, the default, is all.
    public var entries: Int?
    /// The most bytes of the file; 256 MiB by default.
    public var bytes: Int
    /// When to stop, whatever is left; 5 seconds by default, since a process that is told to end has not long.
    public var duration: Duration

    /// Limits, each with its default.
    public init(entries: Int? = nil, bytes: Int = 256 << 20, duration: Duration = .seconds(5)) {
        self.entries = entries
        self.bytes = bytes
        self.duration = duration
    }
}
