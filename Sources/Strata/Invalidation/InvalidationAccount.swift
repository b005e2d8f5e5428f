/// The numbers that an invalidation of tags has led a shared level from and to, for a caller who must know whether
/// another came between two looks.
package final class InvalidationAccount: Sendable {
    /// The account of the invalidation under way; `nil` where its caller wants none.
    @TaskLocal package static var current: InvalidationAccount?

    private let steps = Locked<[(before: UInt64, number: UInt64)]>([])

    package init() {}

    /// Notes that the last number before was this one.
    package func note(_ before: UInt64, to number: UInt64) { steps.withLock { $0.append((before, number)) } }

    /// Whether a part of the level has had the one number, and then the other.
    func leads(from before: UInt64, to number: UInt64) -> Bool {
        steps.withLock { $0.contains { $0.before == before && $0.number == number } }
    }
}
