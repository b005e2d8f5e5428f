/// What an invalidation covers.
public enum InvalidationScope: Sendable, Hashable {
    /// One key.
    case key(Int)
    /// All keys that carry a tag, given by its number; ``StalenessChecker/tags`` says which keys those are.
    case tag(Int)
    /// Every key of the run.
    case all
}
