internal import Synchronization

/// Counts fills that an upper level refused.
final class FillFailures: Sendable {
    private let total = Atomic<Int>(0)

    var count: Int { total.load(ordering: .relaxed) }

    func add() { total.wrappingAdd(1, ordering: .relaxed) }
}
