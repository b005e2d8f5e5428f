/// A piece of work that is running, with its waiters.
///
/// Proof of `Sendable`: everything that changes is reached only under the lock of the flight's table.
@usableFromInline
package class Flight: @unchecked Sendable {
    let table: FlightTable
    /// That of the key.
    let hash: Int
    /// Taken before the work begins: a caller that comes after it is void must not join.
    let ticket: Ticket
    /// The tags that the flight will bring are not known yet, so an invalidation of any tag closes it to later callers.
    let tagChanges: UInt64?
    /// By the system's clock, as trust in the link.
    let startedAt: MonotonicInstant
    /// By the flights' clock, as the limits of waiters.
    let begunAt: MonotonicInstant
    /// The flight in whose task the work runs; `nil` for work with a task of its own.
    let host: Flight?

    /// The index among the running flights; `nil` before and after.
    var place: Int?
    /// Whether callers may join.
    var isListed = false
    /// The next flight with the same hash that callers may join.
    var next: Flight?
    var waiters: [FlightWaiter] = []
    /// The task that does the work; `nil` for one with a host.
    var task: Task<Void, Never>?
    /// The highest priority among its waiters so far.
    var priority: TaskPriority
    /// Whether the task is cancelled, or will be as soon as it is known.
    var isCancelled = false
    /// Whether all waiters have left.
    var isAbandoned = false
    /// The flight that this flight's task waits for, if it does.
    var awaited: Flight?
    /// The waiter that stands for this flight's task on the hosted flight whose work the task does.
    var worker: FlightWaiter?
    /// Whether the flight goes on without waiters.
    var isAnchored = false
    /// Whether it began without one.
    var isLaunched = false
    /// Whether the work has ended; its result is there then.
    var hasLanded = false
    /// Whether its time without waiters is used up: it goes on for those who still wait, and no longer.
    var hadItsTime = false
    /// Whether the flight exceeded its time and was cancelled.
    var isOverdue = false
    /// When the time of an anchored flight ends; after that, when the table forgets it although it has not ended.
    var end = MonotonicInstant.distantFuture
    /// Whether there is something for those whose limit passes before the flight has landed.
    var hasSpare = false
    /// The earlier of the flight's end and its first waiter's.
    var due = MonotonicInstant.distantFuture

    init(_ table: FlightTable, hash: Int, fingerprint: UInt64, host: Flight?, priority: TaskPriority?) {
        self.table = table
        self.hash = hash
        self.host = host
        self.priority = priority ?? Task.currentPriority
        ticket = table.gate?.ticket(for: fingerprint) ?? .none
        tagChanges = table.gate?.tagChanges
        startedAt = .now
        begunAt = table.clock.now(at: startedAt)
    }
}

/// A flight with its result.
///
/// Proof of `Sendable`: ``outcome`` is written once, by the task that does the work, before it tells the table that the
/// flight has landed. Waiters read it after the table has told them so. The rest, ``spare`` too, is protected as in
/// ``Flight``.
@usableFromInline
package class Delivery<Output: Sendable>: Flight, @unchecked Sendable {
    @usableFromInline
    var outcome: Result<Output, any Error>?
    private var spare: Output?

    /// Sets what those get whose limit passes before the work ends.
    package func offer(_ output: Output) {
        table.state.withLock { _ in (spare, hasSpare) = (output, true) }
    }

    /// What was set for those whose limit passes.
    package var offered: Output? { table.state.withLock { _ in spare } }
}

/// A flight with its key and its result.
///
/// Proof of `Sendable`: the key does not change. The rest is protected as in ``Delivery``.
@usableFromInline
final class KeyedFlight<Key: Hashable & Sendable, Output: Sendable>: Delivery<Output>, @unchecked Sendable {
    @usableFromInline
    let key: Key

    init(
        _ table: FlightTable,
        _ key: Key,
        hash: Int,
        fingerprint: UInt64,
        host: Flight? = nil,
        priority: TaskPriority? = nil
    ) {
        self.key = key
        super.init(table, hash: hash, fingerprint: fingerprint, host: host, priority: priority)
    }
}
