/// One of two levels between which a key chooses.
@frozen
public enum SwitchBranch: Sendable, Hashable {
    /// The level that was named first.
    case first
    /// The level that was named second.
    case second
}
