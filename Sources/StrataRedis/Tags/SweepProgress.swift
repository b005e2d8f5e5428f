/// The progress of a sweep.
public struct SweepProgress: Sendable, Hashable {
    /// Values that were checked.
    public var looked = 0
    /// Values that were removed because an invalidation had voided them.
    public var removed = 0
    /// Tags whose last invalidation was removed from Redis.
    public var forgottenTags = 0
}
