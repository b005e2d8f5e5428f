/// A level that looks into memory in one way only: the one that notes the answers of conditions.
@usableFromInline
package protocol AnsweringLevel: CacheLevel {}

extension AnsweringLevel {
    /// The value in memory; the answers of conditions are dropped.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        var answers = ConditionAnswers()
        return resident(key, at: now, &answers)
    }
}
