/// One of the two levels of a switch.
@frozen
public enum SwitchBranch: Sendable, Hashable {
    /// The level that was named first.
    case first
    /// The level that was named second.
    case second
}
