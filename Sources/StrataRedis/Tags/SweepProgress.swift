/// How far a sweep has come.
public struct SweepProgress: Sendable, Hashable {
    /// Values that were looked at.
    public var looked = 0
    /// Values that were removed because an invalidation had voided them.
    public var removed = 0
    /// Tags whose last invalidation nobody has to remember any more.
    public var forgottenTags = 0
}
