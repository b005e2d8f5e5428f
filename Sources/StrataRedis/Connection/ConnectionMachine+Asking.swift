internal import Strata

extension ConnectionMachine {
    /// Takes a call behind ASKING, which lets a node of a cluster serve the next command for a slot that is on its way
    /// to it.
    ///
    /// Nothing can come between the two.
    ///
    /// - Parameters: As ``submit(_:deadline:now:expecting:encode:)``.
    /// - Returns: The call's number.
    /// - Throws: ``RedisError`` when the call is refused.
    mutating func submitAsking(
        _ promise: Promise,
        deadline: MonotonicInstant,
        now: MonotonicInstant,
        expecting expected: ReplyKinds = .any,
        encode: (inout CommandWriter) -> Void
    ) throws(RedisError) -> UInt64 {
        try checkAdmission()
        let before = outgoing.count
        outgoing.begin(1)
        outgoing.argument("ASKING" as StaticString)
        let start = outgoing.count
        encode(&outgoing)
        guard outgoing.count <= settings.queuedBytesLimit || before == 0 else {
            outgoing.truncate(to: before)
            throw overloaded("more than \(settings.queuedBytesLimit) bytes would wait to be sent")
        }
        for (promise, start) in [(nil, before), (promise, start)] as [(Promise?, Int)] {
            let slot = Slot(
                promise: promise,
                expected: promise == nil ? .status : expected,
                deadline: deadline,
                start: takenBytes + UInt64(start),
                since: now
            )
            _ = append(slot, now: now)
        }
        return headNumber + UInt64(slots.count) - 1
    }
}
