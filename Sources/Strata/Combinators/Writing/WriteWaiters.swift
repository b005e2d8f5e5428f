/// The callers that wait for writes: for all up to a number, or for one.
///
/// The numbers of writes grow. A caller that waits for all present writes notes the latest number and no write: waiting
/// and leaving are O(1), the end of a write is O(1) on average, and one that is given up O(callers).
struct WriteWaiters: Sendable {
    private struct Waiter: Sendable {
        /// 0 for a caller that waits for one write.
        var upTo: UInt64 = 0
        /// The first error of a write that was given up.
        var error: (any Error)?
    }

    private var waiters: [UInt64: Waiter] = [:]
    /// Those that wait for all up to a number, the lowest number first; outdated where the caller has left.
    private var line: [(waiter: UInt64, upTo: UInt64)] = []
    private var lineStart = 0
    /// Those that wait for one write, by its number.
    private var single: [UInt64: [UInt64]] = [:]
    /// The writes that have not ended.
    private var writes: Set<UInt64> = []
    /// The same, the lowest first; outdated where a write has ended.
    private var order: [UInt64] = []
    private var orderStart = 0
    /// Those that wait no longer, with the first error of a write that was given up.
    private var finished: [(waiter: UInt64, error: (any Error)?)] = []

    /// Whether there are no waiters.
    var isEmpty: Bool { waiters.isEmpty }

    /// How many places are kept for writes and callers, outdated ones among them.
    var places: Int { order.count + line.count }

    /// There is a write with a number higher than all before.
    mutating func open(_ number: UInt64) {
        writes.insert(number)
        order.append(number)
        guard order.count > 2 * writes.count + 64 else { return }
        order = order[orderStart...].filter { writes.contains($0) }
        orderStart = 0
    }

    /// The lowest number of a write that has not ended.
    private var least: UInt64 {
        mutating get {
            while orderStart < order.count, !writes.contains(order[orderStart]) { orderStart += 1 }
            return orderStart < order.count ? order[orderStart] : .max
        }
    }

    /// A write stands for another from now on.
    ///
    /// - Returns: The number of the two, which is the lower one.
    mutating func join(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let (kept, dropped) = (min(one, other), max(one, other))
        guard kept != dropped else { return kept }
        writes.remove(dropped)
        if let callers = single.removeValue(forKey: dropped) { single[kept, default: []] += callers }
        return kept
    }

    /// Lets a caller wait for all writes.
    ///
    /// - Parameters:
    ///   - waiter: The caller.
    ///   - number: Higher than that of any write.
    /// - Returns: Whether there are any.
    mutating func wait(_ waiter: UInt64, upTo number: UInt64) -> Bool {
        guard !writes.isEmpty else { return false }
        waiters[waiter] = Waiter(upTo: number)
        line.append((waiter, number))
        if line.count > 2 * waiters.count + 64 {
            line = line[lineStart...].filter { waiters[$0.waiter] != nil }
            lineStart = 0
        }
        return true
    }

    /// Lets a caller wait for one write.
    mutating func wait(_ waiter: UInt64, for write: UInt64) {
        waiters[waiter] = Waiter()
        single[write, default: []].append(waiter)
    }

    /// A caller no longer waits.
    ///
    /// - Returns: The first error of a write that was given up meanwhile.
    @discardableResult
    mutating func dismiss(_ waiter: UInt64) -> (any Error)? { waiters.removeValue(forKey: waiter)?.error }

    /// A write has ended, with an error where it was given up.
    mutating func end(_ number: UInt64, _ error: (any Error)?) {
        writes.remove(number)
        if let error {
            for (waiter, state) in waiters where state.upTo >= number && state.error == nil {
                waiters[waiter]?.error = error
            }
        }
        for waiter in single.removeValue(forKey: number) ?? [] { finish(waiter, error) }
        let least = least
        while lineStart < line.count, line[lineStart].upTo < least {
            finish(line[lineStart].waiter, nil)
            lineStart += 1
        }
    }

    /// Those that have stopped waiting since the last call.
    mutating func takeFinished() -> [(waiter: UInt64, error: (any Error)?)] {
        defer { finished.removeAll() }
        return finished
    }

    private mutating func finish(_ waiter: UInt64, _ error: (any Error)?) {
        guard let state = waiters.removeValue(forKey: waiter) else { return }
        finished.append((waiter, state.error ?? error))
    }
}
