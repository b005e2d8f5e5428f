extension PendingWrites {
    /// A caller that waits for room.
    struct Caller {
        let number: UInt64
        let write: Write
        var until: MonotonicInstant
    }

    /// The callers that wait for room, in the order in which they came; each waits equally long.
    ///
    /// Each call is O(1) on average.
    struct CallerLine {
        /// `nil` where a caller has left.
        private var line: [Caller?] = []
        /// How many have been taken out in front of the line.
        private var passed = 0
        private var start = 0
        /// Where each caller is, counted from the first that ever came.
        private var positions: [UInt64: Int] = [:]
        private var latest = MonotonicInstant.distantPast

        var isEmpty: Bool { positions.isEmpty }

        var count: Int { positions.count }

        /// The one that came first.
        var first: Caller? { start < line.count ? line[start] : nil }

        /// Puts a caller at the end.
        ///
        /// - Parameter caller: The caller. It waits no less long than those before it: their clocks may have been read in
        ///   another order than that in which they came.
        mutating func append(_ caller: Caller) {
            var caller = caller
            latest = max(latest, caller.until)
            caller.until = latest
            positions[caller.number] = passed + line.count
            line.append(caller)
        }

        mutating func removeFirst() -> Caller? {
            guard let caller = first else { return nil }
            remove(caller.number)
            return caller
        }

        /// Takes a caller out, wherever it stands.
        mutating func remove(_ number: UInt64) {
            guard let position = positions.removeValue(forKey: number) else { return }
            line[position - passed] = nil
            while start < line.count, line[start] == nil { start += 1 }
            guard start == line.count || start > 64 && 2 * start > line.count else { return }
            line.removeFirst(start)
            passed += start
            start = 0
        }
    }
}
