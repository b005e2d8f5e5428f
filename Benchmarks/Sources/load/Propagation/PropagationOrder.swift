/// What the driver of `load propagation` orders: to read the key into the memory of each instance of the process, and
/// to wait until all let go of it.
struct PropagationOrder: Codable {}

/// What a process of `load propagation` answers.
enum PropagationAnswer: Codable {
    /// Memory holds the key, and the process waits for the change.
    case armed
    /// When the last memory had let go of the key, in nanoseconds of the monotonic clock.
    case seen(Int64)
}
