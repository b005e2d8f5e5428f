internal import Synchronization

/// Counts what happens, for metrics.
@usableFromInline
final class Tally: Sendable {
    private let total = Atomic<Int>(0)

    init() {}

    var count: Int { total.load(ordering: .relaxed) }

    func add() { total.wrappingAdd(1, ordering: .relaxed) }
}
