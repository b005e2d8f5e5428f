extension PendingWrites {
    /// Lets a caller wait for all writes, those among them that are being put into the cache.
    ///
    /// - Returns: Whether there are any.
    mutating func wait(_ waiter: UInt64) -> Bool { waiters.wait(waiter, upTo: next()) }

    /// Lets a caller wait for the write of a key that waits.
    ///
    /// - Returns: Whether there is one.
    mutating func wait(_ waiter: UInt64, for key: Key) -> Bool {
        guard let write = places[key]?.waiting else { return false }
        waiters.wait(waiter, for: write.number)
        return true
    }

    /// A caller does not wait any more.
    mutating func dismiss(_ waiter: UInt64) { waiters.dismiss(waiter) }
}

/// The callers that wait for writes: for all up to a number, or for one.
///
/// The numbers of writes grow. Whoever waits for all that there are notes the number of the moment and no write: waiting and
/// leaving are O(1), the end of a write is O(1) on average, and one that is given up O(callers).
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
    /// No lower number is among them.
    private var least: UInt64 = 0
    /// Those that wait no longer, with the first error of a write that was given up.
    private var finished: [(waiter: UInt64, error: (any Error)?)] = []

    /// Whether nobody waits.
    var isEmpty: Bool { waiters.isEmpty }

    /// There is a write with a number higher than all before.
    mutating func open(_ number: UInt64) {
        if writes.isEmpty { least = number }
        writes.insert(number)
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
        return true
    }

    /// Lets a caller wait for one write.
    mutating func wait(_ waiter: UInt64, for write: UInt64) {
        waiters[waiter] = Waiter()
        single[write, default: []].append(waiter)
    }

    /// A caller does not wait any more.
    mutating func dismiss(_ waiter: UInt64) {
        waiters[waiter] = nil
        if waiters.isEmpty { (line, lineStart) = ([], 0) }
    }

    /// A write has ended, with an error where it was given up.
    mutating func end(_ number: UInt64, _ error: (any Error)?) {
        writes.remove(number)
        if let error {
            for (waiter, state) in waiters where state.upTo >= number && state.error == nil {
                waiters[waiter]?.error = error
            }
        }
        for waiter in single.removeValue(forKey: number) ?? [] { finish(waiter, error) }
        if writes.isEmpty { least = .max } else { while !writes.contains(least) { least += 1 } }
        while lineStart < line.count, line[lineStart].upTo < least {
            finish(line[lineStart].waiter, nil)
            lineStart += 1
        }
        guard lineStart > 64, 2 * lineStart > line.count else { return }
        line.removeFirst(lineStart)
        lineStart = 0
    }

    /// Those that wait no longer since this was asked last.
    mutating func takeFinished() -> [(waiter: UInt64, error: (any Error)?)] {
        defer { finished.removeAll() }
        return finished
    }

    private mutating func finish(_ waiter: UInt64, _ error: (any Error)?) {
        guard let state = waiters.removeValue(forKey: waiter) else { return }
        finished.append((waiter, state.error ?? error))
    }
}
