internal import Strata

/// What the nodes of a cluster were warned of: each has a client of its own, and all have one configuration.
final class SharedWarnings: Sendable {
    private let given = Locked<Set<String>>([])

    /// Whether no warning of it was logged yet.
    func isNews(_ warning: String) -> Bool { given.withLock { $0.insert(warning).inserted } }
}
