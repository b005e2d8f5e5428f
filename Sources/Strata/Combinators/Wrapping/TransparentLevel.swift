/// A level around another one whose memory answers as if nothing stood around it.
@usableFromInline
package protocol TransparentLevel: ForwardingLevel {}

extension TransparentLevel {
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { base.resident(key, at: now) }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? { base.resident(key, at: now, &answers) }
}
