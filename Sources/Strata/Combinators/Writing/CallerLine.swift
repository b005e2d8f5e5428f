extension PendingWrites {
    /// A caller that waits for room.
    struct Caller: Numbered {
        let number: UInt64
        let write: Write
        var until: MonotonicInstant
    }

    /// The callers that wait for room, in order of arrival; each waits equally long.
    struct CallerLine {
        private var line = WaitLine<Caller>()
        private var latest = MonotonicInstant.distantPast

        var isEmpty: Bool { line.isEmpty }

        var count: Int { line.count }

        /// The one that came first.
        var first: Caller? { line.first }

        /// Puts a caller at the end.
        ///
        /// - Parameter caller: The caller. It waits no less long than those before it: their clocks may have been read
        ///   in an order other than that of their arrival.
        mutating func append(_ caller: Caller) {
            var caller = caller
            latest = max(latest, caller.until)
            caller.until = latest
            line.append(caller)
        }

        mutating func removeFirst() -> Caller? { line.removeFirst() }

        /// Takes a caller out, wherever it stands.
        @discardableResult
        mutating func remove(_ number: UInt64) -> Caller? { line.remove(number) }
    }
}
