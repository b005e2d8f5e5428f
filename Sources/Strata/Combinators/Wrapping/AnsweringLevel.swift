/// A level that has one way to tell what memory has: the one that takes down the answers of conditions.
@usableFromInline
package protocol AnsweringLevel: CacheLevel {}

extension AnsweringLevel {
    /// What can be told without suspending, with the answers of conditions dropped.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        var answers = ConditionAnswers()
        return resident(key, at: now, &answers)
    }
}
