/// One piece of work under way, and those who wait for it.
///
/// Proof of `Sendable`: what changes is reached under the lock of the flight's table only.
@usableFromInline
package class Flight: @unchecked Sendable {
    let table: FlightTable
    /// That of the key.
    let hash: Int
    /// Taken before the work begins: who asks after it is void must not join.
    let ticket: Ticket
    /// Which tags the flight will bring is not known yet, so any that is invalidated ends it for later callers.
    let tagChanges: UInt64?
    let startedAt: MonotonicInstant
    /// The flight in whose task the work is done, if not in one of its own.
    let host: Flight?

    /// Where the flight stands among those under way; `nil` before and after.
    var place: Int?
    /// Whether callers may join.
    var isListed = false
    /// The next that callers may join whose key has the same hash.
    var next: Flight?
    var waiters: [FlightWaiter] = []
    /// The task that does the work, unless it has a host.
    var task: Task<Void, Never>?
    /// How urgent the most urgent of those is who have boarded.
    var priority: TaskPriority
    /// Whether that task is cancelled, or will be as soon as it is known.
    var isCancelled = false
    /// Whether nobody wants what the flight brings any more.
    var isAbandoned = false
    /// The flight that this flight's task waits for, if it does.
    var awaited: Flight?
    /// The seat that this flight's task has on the flight whose work it does.
    var worker: FlightWaiter?
    /// Whether the flight goes on when nobody waits any more.
    var isAnchored = false
    /// Whether the flight has had its time, and was cancelled for it.
    var isOverdue = false
    /// When an anchored flight has had its time; then, when it is forgotten though it has not landed.
    var end = MonotonicInstant.distantFuture
    /// No later than the flight's end and the first waiter's.
    var due = MonotonicInstant.distantFuture

    init(_ table: FlightTable, hash: Int, fingerprint: UInt64, host: Flight?) {
        self.table = table
        self.hash = hash
        self.host = host
        priority = Task.currentPriority
        ticket = table.gate?.ticket(for: fingerprint) ?? .none
        tagChanges = table.gate?.tagChanges
        startedAt = .now
    }
}

/// A flight with what it brings.
///
/// Proof of `Sendable`: ``outcome`` is written once, by the task that does the work, before it tells the table that the flight
/// has landed; it is read by waiters whom the table has told so. The rest is the flight's.
@usableFromInline
package class Delivery<Output: Sendable>: Flight, @unchecked Sendable {
    @usableFromInline
    var outcome: Result<Output, any Error>?
}

/// A flight with its key and what it brings.
///
/// Proof of `Sendable`: the key does not change. The rest is the delivery's.
@usableFromInline
final class KeyedFlight<Key: Hashable & Sendable, Output: Sendable>: Delivery<Output>, @unchecked Sendable {
    @usableFromInline
    let key: Key

    init(_ table: FlightTable, _ key: Key, hash: Int, fingerprint: UInt64, host: Flight? = nil) {
        self.key = key
        super.init(table, hash: hash, fingerprint: fingerprint, host: host)
    }
}
