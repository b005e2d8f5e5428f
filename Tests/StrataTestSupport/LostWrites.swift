package import Strata

/// What a cache that writes behind has given up.
package final class LostWrites<Value: Sendable>: Sendable {
    private let writes = Locked<[LostWrite<String, Value>]>([])

    package init() {}

    /// In the order in which they were told.
    package var all: [LostWrite<String, Value>] { writes.withLock { $0 } }

    package var isEmpty: Bool { all.isEmpty }

    package func add(_ write: LostWrite<String, Value>) { writes.withLock { $0.append(write) } }
}
