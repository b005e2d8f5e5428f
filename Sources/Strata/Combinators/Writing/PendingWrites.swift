/// The writes of a process that the source has not got: those that may be made now, those that wait, and their waiters.
///
/// A state machine without tasks and locks. The writes of one key keep their order: one is under way at a time, and of
/// those behind it the last is left. Each method that changes something is followed by ``advance(at:)``, which says
/// what has to be done.
struct PendingWrites<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// One write.
    struct Write: Sendable {
        let key: Key
        /// What reads get until it is made; an absence for a deletion.
        var entry: Entry<Value>
        /// Its version in the cache; `nil` where the cache has not taken it.
        var version: EntryVersion?
        /// Whether its caller is being told that it will be made.
        var isTaken = false
        let cost: Int
        let setAt: MonotonicInstant
        /// When the earliest of the writes that it stands for was set.
        var firstAt: MonotonicInstant
        /// Its place in the order in which writes were taken in: that of the earliest one that it stands for.
        var number: UInt64 = 0
        var attempts = 0
        /// The largest batch that it may be part of: half the size of the one that it failed with.
        var room = Int.max
        /// Whether it waits for no others.
        var isUrgent = false
        /// When it may be tried again.
        var dueAt = MonotonicInstant.distantPast
        var lastError: (any Error)?

        init(_ key: Key, _ entry: Entry<Value>, cost: Int, at now: MonotonicInstant) {
            self.key = key
            self.entry = entry
            self.cost = cost
            setAt = now
            firstAt = now
        }
    }

    /// Writes that are handed out together.
    struct Batch: Sendable {
        let number: UInt64
        var writes: [Write]
        /// Whether their time is over: the cache forgets them, and they are not written.
        var isLost = false
    }

    /// The stages of a write.
    enum End: Sendable {
        case written
        case givenUp(any Error)
    }

    /// What to do after a change.
    struct Effects: Sendable {
        var batches: [Batch] = []
        /// Callers that have got room.
        var admitted: [UInt64] = []
        /// Callers whose wait for room has ended without any.
        var refused: [UInt64] = []
        /// Callers that waited for writes, with the first error of those that were given up.
        var finished: [(waiter: UInt64, error: (any Error)?)] = []
        /// When to look again.
        var due = MonotonicInstant.distantFuture
        /// What to let go.
        var gone = Gone()
    }

    /// What has left, and may be held by nothing else.
    ///
    /// To release a key, a value or an error may run code of the user's, which may call the queue: not under its lock.
    struct Gone: Sendable {
        var writes: [Write] = []
        var keys: [Key] = []
        var errors: [any Error] = []
    }

    struct Place {
        /// Being put into the cache.
        var setting: Write?
        var waiting: Write?
        var underWay: Write?
        /// The batch of the one under way.
        var batch: UInt64 = 0
        /// The present place in the line; 0 for none.
        var turn: UInt64 = 0

        var isEmpty: Bool { setting == nil && waiting == nil && underWay == nil }
        var newest: Write? { waiting ?? underWay ?? setting }
    }

    let options: WriteBehindOptions
    /// How many keys the source takes by one call at most.
    let keysPerCall: Int
    var places: [Key: Place] = [:]
    /// Keys whose writes may go, the oldest first; outdated where the turn is another one.
    var line: [(key: Key, turn: UInt64)] = []
    var lineStart = 0
    /// How many places in the line count.
    var lined = 0
    /// Keys whose writes rest after a failure.
    var resting: Set<Key> = []
    /// When the first of them may be tried again, or earlier.
    var nextRest = MonotonicInstant.distantFuture
    var callers = CallerLine()
    var waiters = WriteWaiters()
    private var lastNumber: UInt64 = 0
    /// The calls of the source that run, and until when each has a place among those that may run at once.
    var batches: [UInt64: MonotonicInstant] = [:]
    var failuresInARow = 0
    var pausedUntil = MonotonicInstant.distantPast
    /// When to look for writes whose time is over.
    var nextLook = MonotonicInstant.distantFuture
    var cost = 0
    var counts = WriteBehindStatistics()
    /// Whether writes no longer wait for others to go with them.
    var isDraining = false
    /// Whether no write is tried twice any more.
    var isEnding = false
    /// Whether to give up all that waits.
    var givesUp = false
    /// What has left since the last look.
    var gone = Gone()

    init(_ options: WriteBehindOptions, keysPerCall: Int = .max) {
        self.options = options.inRange
        self.keysPerCall = keysPerCall
    }

    // MARK: Asking

    var isEmpty: Bool { places.isEmpty }

    /// How many keys have writes.
    var count: Int { places.count }

    /// The newest write of a key whose caller was told that it will be made; else the one that is being set.
    func newest(_ key: Key) -> Write? { places[key]?.newest }

    /// The counts, and the age of the oldest write.
    ///
    /// O(n).
    func statistics(at now: MonotonicInstant) -> WriteBehindStatistics {
        var statistics = counts
        statistics.pending = places.count
        statistics.pendingCost = cost
        let first = places.values.reduce(now) { first, place in
            [place.underWay, place.waiting].reduce(first) { min($0, $1?.firstAt ?? $0) }
        }
        statistics.oldest = first.duration(to: now)
        return statistics
    }

    // MARK: Setting

    /// Takes a write in, if there is room and no caller waits for room.
    mutating func begin(_ write: Write) -> Bool {
        guard fits(write), callers.isEmpty || places[write.key] != nil else { return false }
        admit(write)
        return true
    }

    /// Takes a write in, or lets its caller wait for room.
    ///
    /// - Returns: Whether there was room.
    mutating func begin(_ write: Write, as caller: UInt64, until: MonotonicInstant) -> Bool {
        if begin(write) { return true }
        callers.append(Caller(number: caller, write: write, until: until))
        return false
    }

    /// A caller no longer waits for room.
    mutating func leave(_ caller: UInt64) {
        if let caller = callers.remove(caller) { gone.writes.append(caller.write) }
    }

    func fits(_ write: Write) -> Bool {
        let place = places[write.key]
        guard place != nil || places.count < options.limit else { return false }
        guard let limit = options.costLimit, cost > 0 else { return true }
        return cost + min(write.cost, limit) - (place?.waiting?.cost ?? 0) <= limit
    }

    mutating func admit(_ write: Write) {
        var write = write
        write.number = next()
        waiters.open(write.number)
        places[write.key, default: Place()].setting = write
        cost += write.cost
    }

    /// The cache has taken a write, or has not: it may go to the source, in the place of an earlier one that still
    /// waits.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - version: The write's version in the cache; `nil` where the cache has not taken it.
    ///   - isRefused: Whether the cache was to take it, and could not.
    mutating func commit(_ key: Key, _ version: EntryVersion?, isRefused: Bool = false) {
        guard var write = places[key]?.setting.take() else { return }
        write.version = version
        write.isTaken = true
        if isRefused { counts.uncached += 1 }
        if let earlier = places[key]?.waiting {
            replace(earlier, by: &write)
            gone.writes.append(earlier)
        }
        places[key]?.waiting = write
        queue(key)
    }

    /// A write is not made: its caller was told so.
    mutating func abandon(_ key: Key) {
        guard let write = places[key]?.setting.take() else { return }
        gone.writes.append(write)
        cost -= write.cost
        waiters.end(write.number, nil)
        vacate(key)
    }

    /// Removes the place of a key that has no writes any more.
    ///
    /// - Returns: Whether it had none.
    @discardableResult
    mutating func vacate(_ key: Key) -> Bool {
        guard let index = places.index(forKey: key), places[index].value.isEmpty else { return false }
        gone.keys.append(places.remove(at: index).key)
        return true
    }

    /// Lets a later write stand for an earlier one.
    mutating func replace(_ earlier: Write, by write: inout Write) {
        write.number = waiters.join(earlier.number, write.number)
        write.firstAt = min(write.firstAt, earlier.firstAt)
        write.attempts = earlier.attempts
        write.room = earlier.room
        write.dueAt = earlier.dueAt
        write.lastError = earlier.lastError
        cost -= earlier.cost
        counts.coalesced += 1
    }

    mutating func next() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Puts a key into the line, unless it is there, rests, or has a write under way.
    mutating func queue(_ key: Key) {
        guard let place = places[key], place.waiting != nil, place.underWay == nil, place.turn == 0,
            !resting.contains(key)
        else { return }
        let turn = next()
        places[key]?.turn = turn
        line.append((key, turn))
        lined += 1
    }

    /// Takes a key out of the line, and out of its rest.
    mutating func unqueue(_ key: Key) {
        if let turn = places[key]?.turn, turn > 0 {
            places[key]?.turn = 0
            lined -= 1
        }
        wake(key)
    }

    /// Ends the rest of a key.
    mutating func wake(_ key: Key) {
        if let key = resting.remove(key) { gone.keys.append(key) }
    }
}
