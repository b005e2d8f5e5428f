/// A level that changes the cache at once, and the source of truth later.
///
/// ```swift
/// let carts = MemoryLevel<Int, Cart>(limit: .entries(10_000))
///     .compose(RedisLevel(redis, keyspace: "carts").fetching { id in try await database.cart(id) })
///     .writingBehind { lost in
///         logger.error("a cart was not saved", metadata: ["error": "\(lost.error)"])
///     } write: { id, cart in
///         if let cart { try await database.save(cart, as: id) } else { try await database.delete(id) }
///     }
///
/// try await carts.set(cart, for: 42)  // the cache; the database a moment later
/// try await carts.flush()
/// ```
///
/// A `set` caches the value and queues it. The source gets it a moment later: together with others where it takes
/// several, and only the last of several writes of one key. A write that fails is tried again with growing pauses. When
/// one is given up, a closure is told, and the cache forgets the value. Where there is no room, a `set` waits, and then
/// throws: nothing is lost silently.
///
/// The queue is in the memory of this process. A crash loses its contents: the writes of at most
/// ``WriteBehindOptions/limit`` keys, none older than ``WriteBehindOptions/givenUpAfter``.
///
/// While a write is pending, this process reads the pending value, or what another instance has set since; so do all
/// instances, as long as Redis keeps the value. When several instances write, the source ends with the value that is
/// last in Redis.
///
/// Reads are those of the level inside. Forgetting does not delete: ``remove(_:)``, ``removeAll()`` and tags concern
/// the cache only; ``delete(_:)`` deletes in the source, later. Like ``WritingThrough``, it cannot be updated.
///
/// Put it around the whole cache, or, above Redis, below memory: without Redis, memory would not hear of values that
/// are deleted or given up. The source stands inside.
public struct WritingBehind<Base: AtomicLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level that caches.
    public let base: Base
    /// How writes are made.
    public var options: WriteBehindOptions { queue.options }
    let queue: WriteBehindQueue<Base>
    private let turns = KeyTurns<Base.Key>()
    private let cost: @Sendable (Base.Value) -> Int

    init(_ base: Base, _ queue: WriteBehindQueue<Base>, cost: @escaping @Sendable (Base.Value) -> Int) {
        self.base = base
        self.queue = queue
        self.cost = cost
    }

    /// What was done, and what has not reached the source yet.
    ///
    /// O(pending keys).
    public var statistics: WriteBehindStatistics { queue.statistics }

    // MARK: Reading

    /// The level's entry; for a key whose write is pending, what levels hold of it, or the pending value.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard request.rights == nil, let pending = queue.newest(key) else {
            return try await base.entry(for: key, request.late)
        }
        return try await entry(of: pending, request)
    }

    /// The value of a key whose write has not reached the source: the source is not asked.
    private func entry(
        of pending: PendingWrites<Key, Value>.Write,
        _ request: ReadRequest
    ) async throws -> Entry<Value>? {
        let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
        if asksInside(pending) {
            do {
                let found = try await base.entry(for: pending.key, inside(request))
                if let found, serves(found, pending) { return found }
            } catch {
                // A level may throw it by itself.
                if error is CancellationError, Task.isCancelled { throw error }
                request.failed(error, at: base, since: start)
            }
        }
        request.recorder?.step(.hit, at: .pendingWrite, from: start, to: .now)
        return pending.entry
    }

    /// The level's entries; for keys whose writes are pending, what ``entry(for:_:)`` returns.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard request.rights == nil, !queue.isEmpty else { return try await base.entries(for: keys, request.late) }
        let pending = keys.map { queue.newest($0) }
        let rest = keys.indices.filter { pending[$0] == nil }
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        if !rest.isEmpty {
            let found = try await base.entries(for: rest.map { keys[$0] }, request.late)
            for (index, entry) in zip(rest, found) { entries[index] = entry }
        }
        try await add(keys, pending, request, to: &entries)
        return entries
    }

    /// Adds the values of keys whose writes have not reached the source: the level inside is asked for them by one
    /// call.
    private func add(
        _ keys: [Key],
        _ pending: [PendingWrites<Key, Value>.Write?],
        _ request: ReadRequest,
        to entries: inout [Entry<Value>?]
    ) async throws {
        let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
        let asked = keys.indices.filter { pending[$0].map(asksInside) ?? false }
        if !asked.isEmpty {
            do {
                let found = try await base.outcomes(for: asked.map { keys[$0] }, inside(request))
                for (index, outcome) in zip(asked, found) {
                    switch outcome {
                    case .success(let entry?)?:
                        if let write = pending[index], serves(entry, write) { entries[index] = entry }
                    case .failure(let error)?: request.of(keys[index]).failed(error, at: base, since: start)
                    case .success(nil)?, nil: break
                    }
                }
            } catch {
                if error is CancellationError, Task.isCancelled { throw error }
                for index in asked { request.of(keys[index]).failed(error, at: base, since: start) }
            }
        }
        for index in keys.indices where entries[index] == nil {
            guard let write = pending[index] else { continue }
            request.of(keys[index]).recorder?.step(.hit, at: .pendingWrite, from: start, to: .now)
            entries[index] = write.entry
        }
    }

    /// Whether levels may hold something newer than what is pending.
    private func asksInside(_ pending: PendingWrites<Key, Value>.Write) -> Bool {
        !pending.isTaken || base.gate != nil && pending.version != nil
    }

    /// Whether what levels hold is not older than what is pending.
    private func serves(_ found: Entry<Value>, _ pending: PendingWrites<Key, Value>.Write) -> Bool {
        !pending.isTaken || found.version.isLate
    }

    /// The read of what levels hold of keys whose writes are pending.
    private func inside(_ request: ReadRequest) -> ReadRequest {
        var inside = request
        inside.options.source = .never
        // An entry that is no late write is older than the pending value, and must not come into memory.
        inside.options.skipsFilling.insert(.memory)
        inside.purpose = .read
        return inside
    }

    /// Joins a read of the level inside, unless a write of the key is pending.
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        if queue.has(key) { return nil }
        return try await base.join(key, if: isSought)
    }

    public func lacks(_ key: Key, isRead: Bool) -> Bool {
        queue.has(key) ? false : base.lacks(key, isRead: isRead)
    }

    // MARK: Writing

    /// True.
    public var writesSource: Bool { true }

    /// Writes the cache, and queues the value for the source.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Writes the cache, and queues the value for the source.
    ///
    /// An entry that a read has found below, and a remembered absence, are cached and not written; while a write of the
    /// key is pending they are not even cached. A cache that cannot take the value is no reason not to write it: it
    /// forgets the key instead. When the cache has begun to ``drain(within:)``, the call waits for the source.
    ///
    /// - Throws: ``CacheError/Code/overloaded`` when too many writes wait for the source, and then nothing was changed;
    ///   `CancellationError`, and then the value is not written, and the key is removed; while draining
    ///   ``CacheError/Code/notWritten``.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        guard entry.value != nil, entry.rights == nil, !entry.isFill else {
            guard !queue.has(key) else {
                entry.rights?.refuse(because: .changedMeanwhile)
                return .void
            }
            return try await base.commit(entry, for: key)
        }
        return try await change(key, to: entry)
    }

    /// Forgets a key in the cache.
    ///
    /// The source keeps it; see ``delete(_:)``. A pending write of the key is still made, and until then this process
    /// reads the pending value. A `set` with a lifetime of zero arrives here, too: its value is queued for the source,
    /// and not cached.
    ///
    /// - Throws: As ``commit(_:for:)`` for such a `set`, and ``CacheError/Code/notUpdatable`` where a level of your own
    ///   transforms values on the way; else what the level inside throws.
    public func remove(_ key: Key) async throws {
        guard let value = UncachedWrite.value else { return try await base.remove(key) }
        guard let value = value as? Value else { throw CacheError.uncachedTransformed }
        _ = try await change(key, to: Entry(value: value), isCached: false)
    }

    /// Deletes a key, in the cache at once and in the source later.
    ///
    /// The cache remembers the absence for at least as long as a value would live there.
    ///
    /// - Throws: As ``commit(_:for:)``.
    public func delete(_ key: Key) async throws { _ = try await change(key, to: Entry(.absent)) }

    /// Waits until all that was set until now has reached the source.
    ///
    /// Meanwhile no write waits for others to go with it.
    ///
    /// - Throws: ``CacheError/Code/notWritten`` when one of the writes was given up; `CancellationError`.
    public func flush() async throws { try await queue.flush() }

    /// Makes all writes, for at most `limit`, and gives up the rest; then drains the level inside.
    ///
    /// From then on a `set` waits for the source.
    public func drain(within limit: Duration) async {
        let end = MonotonicInstant.now.advanced(by: limit)
        await queue.drain(within: limit)
        await base.drain(within: max(.zero, MonotonicInstant.now.duration(to: end)))
    }

    private func change(_ key: Key, to entry: Entry<Value>, isCached: Bool = true) async throws -> Ticket? {
        let until = queue.clock.running.advanced(by: options.waitLimit)
        return try await turns.exclusively(key) {
            let late = late(entry, key)
            // Sums of it have room.
            let cost = min(max(0, entry.value.map(cost) ?? 0), 1 << 40)
            try await queue.begin(.init(key, late.pending, cost: cost, at: queue.clock.running), until: until)
            var ticket: Ticket? = .void
            var version: EntryVersion?
            if isCached {
                do {
                    ticket = try await base.commit(late, for: key)
                    version = late.version
                } catch {
                    if error is CancellationError, Task.isCancelled {
                        queue.change { $0.abandon(key) }
                        await forget(key)
                        throw error
                    }
                }
            }
            let isRefused = isCached && version == nil
            let isLast = queue.change { [version] writes in
                if !writes.isDraining { writes.commit(key, version, isRefused: isRefused) }
                return writes.isDraining
            }
            guard isLast else {
                // After that: a value that was fetched until now must not stay.
                if version == nil { await forget(key) }
                return ticket
            }
            try await queue.wait { [version] writes, waiter in
                writes.commit(key, version, isRefused: isRefused)
                return writes.wait(waiter, for: key)
            }
            return ticket
        }
    }

    /// The entry as a late write, which lives for at least as long as it may be pending, unless its time is over.
    private func late(_ entry: Entry<Value>, _ key: Key) -> Entry<Value> {
        var late = entry
        let now = queue.clock.now
        if late.freshUntil == .distantFuture, let policy {
            late = policy.stamping(late, fingerprint: fingerprint(of: key), at: now)
        }
        if late.isFresh(at: now) { late.live(atLeastUntil: now.advanced(by: options.shortestLife)) }
        late.version = .late()
        late.hasNewVersion = true
        return late
    }

    /// Forgets a key, also for a caller that is cancelled.
    private func forget(_ key: Key) async { await Task { [queue] in await queue.forget(key) }.value }

    public var label: LevelLabel {
        let counted = statistics
        return LevelLabel(
            "writing behind",
            counters: [
                .init("pending_writes", counted.pending), .init("written", counted.written),
                .init("failed_writes", counted.failed), .init("given_up_writes", counted.givenUp),
                .init("refused_writes", counted.refused),
                .init(detail: "coalesced_writes", counted.coalesced),
                .init(detail: "uncached_writes", counted.uncached),
                .init(detail: "adopted_writes", counted.adopted), .init(detail: "untold_writes", counted.untold),
                .init(detail: "oldest_pending_write", Int(counted.oldest / .milliseconds(1))),
            ],
            parts: [base.label]
        )
    }
}

extension WritingBehind: SourcedLevel where Base: SourcedLevel {}

extension WritingBehind: ConfirmationRelay {}

extension AtomicLevel {
    /// This level, writing to the source of truth after it has cached.
    ///
    /// A `set` costs no more than without it. Each write of the source takes two round trips to Redis besides, which
    /// compare versions and move no values.
    ///
    /// - Parameters:
    ///   - options: How soon writes are made, and how much may wait.
    ///   - cost: What a value costs, for ``WriteBehindOptions/costLimit``; asked once for each `set`.
    ///   - lost: Gets each write that is given up. It must not take long.
    ///   - write: Writes a value to the source, or deletes the key when the value is `nil`. A write that throws is
    ///     tried again. The closure has to end when it is cancelled.
    /// - Returns: The level that writes.
    public func writingBehind(
        _ options: WriteBehindOptions = WriteBehindOptions(),
        cost: @escaping @Sendable (Value) -> Int = { _ in 0 },
        lost: @escaping @Sendable (LostWrite<Key, Value>) -> Void,
        write: @escaping @Sendable (_ key: Key, _ value: Value?) async throws -> Void
    ) -> WritingBehind<Self> {
        let queue = WriteBehindQueue(self, options, keysPerCall: 1, onLoss: lost) { writes in
            for (key, value) in writes { try await write(key, value) }
        }
        return WritingBehind(self, queue, cost: cost)
    }

    /// This level, writing to the source of truth after it has cached, several keys by one call.
    ///
    /// - Parameters:
    ///   - options: How soon writes are made, how many at once, and how much may wait.
    ///   - cost: What a value costs, for ``WriteBehindOptions/costLimit``; asked once for each `set`.
    ///   - lost: Gets each write that is given up. It must not take long.
    ///   - write: Writes values to the source, each key once; deletes those whose value is `nil`. When it throws, all
    ///     are tried again in batches of half the size: one that can never be written fails alone in the end. It has to
    ///     end when it is cancelled.
    /// - Returns: The level that writes.
    public func writingBehindSeveral(
        _ options: WriteBehindOptions = WriteBehindOptions(),
        cost: @escaping @Sendable (Value) -> Int = { _ in 0 },
        lost: @escaping @Sendable (LostWrite<Key, Value>) -> Void,
        write: @escaping @Sendable (_ writes: [(key: Key, value: Value?)]) async throws -> Void
    ) -> WritingBehind<Self> {
        WritingBehind(self, WriteBehindQueue(self, options, onLoss: lost, write), cost: cost)
    }
}

extension Entry {
    /// What reads get of an entry that is no longer in the cache: no level keeps it.
    fileprivate var pending: Entry {
        var entry = self
        entry.origin = .pendingWrite
        entry.ticket = .void
        return entry
    }

    /// Moves the end of the entry's freshness back, if it comes before `end`.
    fileprivate mutating func live(atLeastUntil end: MonotonicInstant) {
        guard freshUntil < end else { return }
        if refreshAt == freshUntil { refreshAt = end }
        freshUntil = end
        staleUntil = max(staleUntil, end)
    }
}

extension ReadRequest {
    /// The same request to a level that writes its source later.
    fileprivate var late: ReadRequest {
        var request = self
        request.writesLater = true
        return request
    }
}
