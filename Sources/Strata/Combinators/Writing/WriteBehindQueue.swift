internal import Synchronization

/// The writes of a cache on their way to its source, and the tasks that make them.
///
/// Tasks are started as writes fall due, each for one batch, and end with it. While there are writes the queue keeps
/// itself alive, so a cache that is given up still makes them.
final class WriteBehindQueue<Base: AtomicLevel>: Sendable {
    typealias Key = Base.Key
    typealias Value = Base.Value
    typealias Pending = PendingWrites<Key, Value>
    typealias Write = @Sendable ([(key: Key, value: Value?)]) async throws -> Void

    struct State: Sendable {
        var writes: Pending
        var rooms: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var waits: [UInt64: CheckedContinuation<WaitEnd, Never>] = [:]
        /// Batches under way; their tasks, as soon as they are known.
        var tasks: [UInt64: Task<Void, Never>?] = [:]
        /// Whether batches are cancelled, since the cache ends.
        var isOver = false
        /// The queue, while there are writes.
        var itself: WriteBehindQueue?
    }

    /// How a wait for writes ends.
    enum WaitEnd: Sendable {
        /// The caller was cancelled.
        case cancelled
        /// The writes have ended, with the first error of those that were given up; it may be a `CancellationError`.
        case ended((any Error)?)
    }

    let base: Base
    let options: WriteBehindOptions
    let write: Write
    let onLoss: @Sendable (LostWrite<Key, Value>) -> Void
    let state: Locked<State>
    /// Writes fall due by themselves, also on a clock that a test moves.
    let clock: CacheClock
    private let watch: Watch
    /// How many keys have writes: every read that memory does not answer looks here before it takes the lock.
    private let count = Atomic<Int>(0)

    init(
        _ base: Base,
        _ options: WriteBehindOptions,
        keysPerCall: Int = .max,
        onLoss: @escaping @Sendable (LostWrite<Key, Value>) -> Void,
        _ write: @escaping Write
    ) {
        self.base = base
        self.options = options.inRange
        self.onLoss = onLoss
        self.write = write
        clock = base.clock ?? .current
        watch = Watch(clock, .running)
        state = Locked(State(writes: PendingWrites(options, keysPerCall: keysPerCall)))
    }

    // MARK: Asking

    /// Whether the source has got everything.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// The newest write of a key that the source has not got, or may not have got.
    func newest(_ key: Key) -> Pending.Write? {
        isEmpty ? nil : state.withLock { $0.writes.newest(key) }
    }

    /// Whether there is a write of a key that the source has not got, or may not have got.
    func has(_ key: Key) -> Bool { newest(key) != nil }

    var statistics: WriteBehindStatistics { state.withLock { $0.writes.statistics(at: clock.running) } }

    // MARK: Changing

    /// Changes the state, and does what follows.
    ///
    /// - Parameters:
    ///   - body: The change.
    ///   - first: Called with its result before callers that wait hear of it.
    /// - Returns: The result.
    @discardableResult
    func change<Result>(
        _ body: (inout Pending) -> Result,
        beforeOthersAreTold first: (Result) -> Void = { _ in }
    ) -> Result {
        changeAll({ body(&$0.writes) }, first)
    }

    private func changeAll<Result>(_ body: (inout State) -> Result, _ first: (Result) -> Void = { _ in }) -> Result {
        let (result, consequences) = state.withLock { state in
            let result = body(&state)
            return (result, advance(&state))
        }
        first(result)
        perform(consequences)
        return result
    }

    /// What is done outside the lock.
    private struct Consequences {
        var batches: [Pending.Batch] = []
        var rooms: [(continuation: CheckedContinuation<Bool, Never>, isAdmitted: Bool)] = []
        var waits: [(continuation: CheckedContinuation<WaitEnd, Never>, error: (any Error)?)] = []
        var due = MonotonicInstant.distantFuture
        var gone = Pending.Gone()
    }

    private func advance(_ state: inout State) -> Consequences {
        let effects = state.writes.advance(at: clock.running)
        count.store(state.writes.count, ordering: .releasing)
        // Its caller holds the queue: it does not end here, under its own lock.
        state.itself = state.writes.isEmpty ? nil : self
        for batch in effects.batches { state.tasks.updateValue(nil, forKey: batch.number) }
        var consequences = Consequences(batches: effects.batches, due: effects.due, gone: effects.gone)
        for (callers, isAdmitted) in [(effects.admitted, true), (effects.refused, false)] {
            for caller in callers {
                guard let continuation = state.rooms.removeValue(forKey: caller) else { continue }
                consequences.rooms.append((continuation, isAdmitted))
            }
        }
        for (waiter, error) in effects.finished {
            guard let continuation = state.waits.removeValue(forKey: waiter) else { continue }
            consequences.waits.append((continuation, error))
        }
        return consequences
    }

    private func perform(_ consequences: Consequences) {
        for batch in consequences.batches { start(batch) }
        for room in consequences.rooms { room.continuation.resume(returning: room.isAdmitted) }
        for wait in consequences.waits { wait.continuation.resume(returning: .ended(wait.error)) }
        if consequences.due < .distantFuture { watch.schedule(self, by: consequences.due) }
        withExtendedLifetime(consequences.gone) {}
    }

    /// Starts the task of a batch; the queue owns it until the batch has ended.
    ///
    /// Detached: it works for all callers whose writes it makes, and has no task-local values of theirs.
    private func start(_ batch: Pending.Batch) {
        let task = Task.detached { [self] in
            await make(batch)
            changeAll { state in
                _ = state.tasks.removeValue(forKey: batch.number)
                state.writes.end(batch)
            }
        }
        let isLate = state.withLock { state in
            if state.tasks[batch.number] != nil { state.tasks.updateValue(task, forKey: batch.number) }
            return state.isOver && !batch.isLost
        }
        if isLate { task.cancel() }
    }

    // MARK: Room

    /// Takes a write in; waits for room where there is none.
    ///
    /// - Throws: ``CacheError/Code/overloaded`` when there was none in time; `CancellationError`. Then nothing was
    ///   taken in.
    func begin(_ write: Pending.Write, until: MonotonicInstant) async throws {
        try Task.checkCancellation()
        if change({ $0.begin(write) }) { return }
        let caller = state.withLock { $0.writes.next() }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = changeAll { state in
                    // A cancellation that came before is seen here; one that comes later finds the caller.
                    if Task.isCancelled { return false }
                    if state.writes.begin(write, as: caller, until: until) { return true }
                    state.rooms[caller] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = changeAll { state in
                state.writes.leave(caller)
                return state.rooms.removeValue(forKey: caller)
            }
            continuation?.resume(returning: false)
        }
        if isAdmitted { return }
        try Task.checkCancellation()
        throw CacheError(
            code: .overloaded,
            message: "too many keys have writes that the source has not taken yet"
        )
    }

    // MARK: Waiting

    /// Waits for writes.
    ///
    /// - Parameter choose: Lets a caller wait for some writes, and returns whether there is something to wait for. It
    ///   runs in any case.
    /// - Throws: ``CacheError/Code/notWritten`` when one of them was given up; `CancellationError`.
    func wait(for choose: (inout Pending, _ waiter: UInt64) -> Bool) async throws {
        let waiter = state.withLock { $0.writes.next() }
        let end: WaitEnd = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let end: WaitEnd? = changeAll { state in
                    guard choose(&state.writes, waiter) else { return .ended(nil) }
                    guard !Task.isCancelled else {
                        state.writes.dismiss(waiter)
                        return .cancelled
                    }
                    state.waits[waiter] = continuation
                    return nil
                }
                if let end { continuation.resume(returning: end) }
            }
        } onCancel: {
            let continuation = changeAll { state in
                state.writes.dismiss(waiter)
                return state.waits.removeValue(forKey: waiter)
            }
            continuation?.resume(returning: .cancelled)
        }
        switch end {
        case .cancelled: throw CancellationError()
        case .ended(let error?):
            throw CacheError(code: .notWritten, message: "a write to the source was given up", causes: [error])
        case .ended(nil): try Task.checkCancellation()
        }
    }

    /// Waits for all writes that the cache has taken until now.
    func flush() async throws { try await wait { $0.wait($1) } }

    /// Makes all writes without delay, for at most `limit`, and then gives up the rest.
    func drain(within limit: Duration) async {
        change { $0.drain() }
        await rest(upTo: limit)
        // Writes that are given up are forgotten also where this task is cancelled, as it is when a process ends by a
        // failure.
        await Task.detached { [self] in await giveUpRest() }.value
    }

    /// Gives up what is still there, and has the cache forget it.
    private func giveUpRest() async {
        let tasks = changeAll { state in
            if !state.writes.isEmpty { state.isOver = true }
            state.writes.giveUp()
            return state.tasks.values.compactMap(\.self)
        }
        for task in tasks { task.cancel() }
        // Cancelled writes have a moment to end, and the cache has one to forget them.
        await rest(upTo: .seconds(1))
        let error = Self.unfinished
        let abandoned = change { $0.abandonAll(error) }
        await withTaskGroup { group in
            for write in abandoned { group.addTask { [self] in await forget(write.key) } }
        }
        for write in abandoned { lose(write, write.lastError ?? error) }
        state.withLock { $0.isOver = false }
    }

    /// Waits until there are no writes, for at most `limit`.
    private func rest(upTo limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { [self] in
                // Others may be set meanwhile.
                while !Task.isCancelled, state.withLock({ !$0.writes.isEmpty }) { try? await flush() }
            }
            group.addTask { try? await Task.pause(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Tells of a write that is given up.
    func lose(_ write: Pending.Write, _ error: any Error) {
        onLoss(LostWrite(write.key, write.entry.value, error: error, attempts: write.attempts))
    }
}

extension WriteBehindQueue: Watched {
    /// Starts what has fallen due.
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        var consequences = state.withLock { advance(&$0) }
        let due = exchange(&consequences.due, with: .distantFuture)
        perform(consequences)
        return due
    }
}
