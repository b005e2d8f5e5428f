/// A level whose single reads of the same moment go down as one read of several keys.
///
/// The first read opens a window; those that come while it is open join it, each key once. When it closes, or is full,
/// they are asked for together. No read gets another key's failure, and no other key is asked for again because of one
/// that has failed.
///
/// A caller's cancellation is its own; the common read is cancelled when the last caller has left. Reads with options
/// of their own or with read traces go down alone. So do reads whose condition was asked already, and reads for which a
/// level above has an old value: these wait for less time, and their source is told of that value.
public struct Coalesced<Base: CacheLevel>: ForwardingLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are collected.
    public let base: Base
    /// How long a window is open.
    package let window: Duration
    /// How many keys close it early.
    package let limit: Int
    private let collection: Collection<Base.Key, Base.Value>

    init(_ base: Base, window: Duration, limit: Int) {
        self.base = base
        self.window = window
        self.limit = max(1, limit)
        collection = Collection(window: window, limit: max(1, limit), base.clock ?? .current) { keys, left in
            var request = ReadRequest()
            request.left = left
            // Some of the callers may: it only has rights taken early.
            request.writesLater = true
            return try await base.outcomes(for: keys, request)
        }
    }

    /// The level's entry, asked for together with those of other reads of this moment.
    ///
    /// - Throws: What the level throws; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard request.isShareable, request.recorder == nil, request.answers.isEmpty, request.basis == nil,
            !request.hasFallback
        else { return try await base.entry(for: key, request) }
        let left = LeftFlights()
        // Fetches that the common read has left go on for all its callers.
        defer { if !left.isEmpty { request.left?.add(left) } }
        if let outcome = try await collection.outcome(of: key, left) { return try outcome.get() }
        try Task.checkCancellation()
        return try await base.entry(for: key, request)
    }

    /// How many keys wait in the window that is open.
    package var collected: Int { collection.collected }

    /// How many reads wait for the end of the open window.
    package var waiting: Int { collection.waiting }

    /// The level's entries, by one call; a batch is not collected with other reads.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await base.entries(for: keys, request)
    }

    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { base.resident(key, at: now) }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? { base.resident(key, at: now, &answers) }

    public var label: LevelLabel {
        LevelLabel("collected, within \(window), at most \(limit) keys", parts: [base.label])
    }
}

extension Coalesced: Fetcher where Base: Fetcher {}

extension Coalesced: ConfirmationRelay {}

extension Coalesced: AtomicLevel where Base: AtomicLevel {}

extension CacheLevel {
    /// This level with its single reads of the same moment asked for together.
    ///
    /// - Parameters:
    ///   - window: How long the first read waits for others; a millisecond by default. With zero it waits only for
    ///     reads that are ready to run.
    ///   - limit: How many keys are asked for together at most.
    /// - Returns: The level with its window.
    public func collecting(within window: Duration = .milliseconds(1), upTo limit: Int = 1000) -> Coalesced<Self> {
        Coalesced(self, window: window, limit: limit)
    }
}

/// The windows of one level: one is open at a time, any number may be on their way.
private final class Collection<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The keys of one window, and the read that they share.
    private final class Batch: Sendable {
        private struct State {
            var places: [Key: Int] = [:]
            var isFull = false
            /// Ends with the window.
            var timer: Task<Void, Never>?
        }

        private let state = Locked(State())
        /// The outcome: a caller that has a place may ask for it after the read has ended.
        let answer = Locked<[KeyOutcome<Value>]?>(nil)
        /// The fetches that it has left.
        let left = LeftFlights()
        let read = Flights<Int, [KeyOutcome<Value>]>(clock: .system)

        /// The place of a key; `nil` when there is no room.
        ///
        /// The last key that there is room for ends the wait for others.
        func place(of key: Key, limit: Int) -> (place: Int, isFull: Bool)? {
            let (place, isFull, timer) = state.withLock { state -> (Int?, Bool, Task<Void, Never>?) in
                if let place = state.places[key] { return (place, state.isFull, nil) }
                guard !state.isFull else { return (nil, true, nil) }
                let place = state.places.count
                state.places[key] = place
                state.isFull = place + 1 == limit
                return (place, state.isFull, state.isFull ? state.timer : nil)
            }
            timer?.cancel()
            return place.map { ($0, isFull) }
        }

        /// Waits for others until the window ends, or is full.
        func wait(for window: Duration, _ clock: CacheClock) async throws {
            let timer = Task { _ = try? await clock.pause(for: window) }
            let isFull = state.withLock { state in
                state.timer = timer
                return state.isFull
            }
            if isFull { timer.cancel() }
            await withTaskCancellationHandler {
                await timer.value
            } onCancel: {
                timer.cancel()
            }
            try Task.checkCancellation()
        }

        var inOrder: [Key] { state.withLock { state in state.places.sorted { $0.value < $1.value }.map(\.key) } }
    }

    private let window: Duration
    private let limit: Int
    private let clock: CacheClock
    private let ask: @Sendable ([Key], LeftFlights) async throws -> [KeyOutcome<Value>]
    private let open = Locked<Batch?>(nil)

    init(
        window: Duration,
        limit: Int,
        _ clock: CacheClock,
        _ ask: @escaping @Sendable ([Key], LeftFlights) async throws -> [KeyOutcome<Value>]
    ) {
        self.window = window
        self.limit = limit
        self.clock = clock
        self.ask = ask
    }

    var collected: Int { open.withLock { $0 }?.inOrder.count ?? 0 }

    var waiting: Int { open.withLock { $0 }?.read.waiting ?? 0 }

    /// The outcome of a key in the common read.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - left: Gets the fetches that the common read has left, if the key failed.
    /// - Returns: The outcome; `nil` where it is not known which keys have failed.
    /// - Throws: What the common read throws; `CancellationError`.
    func outcome(of key: Key, _ left: LeftFlights) async throws -> KeyOutcome<Value> {
        let (batch, place) = board(key)
        var hasValue = false
        defer {
            if !hasValue { left.add(batch.left) }
            // A caller that was cancelled before it joined the read has begun none.
            if batch.read.waiting == 0 { close(batch) }
        }
        let outcomes = try await batch.read.join(0) { [self] _ in
            if let answer = batch.answer.withLock({ $0 }) { return answer }
            // Also when all callers have left: their keys are not asked for then.
            defer { close(batch) }
            if window > .zero { try await batch.wait(for: window, clock) } else { await Task.yield() }
            close(batch)
            let answer = try await ask(batch.inOrder, batch.left)
            batch.answer.withLock { $0 = answer }
            return answer
        }
        let outcome = outcomes.output[place]
        if case .success = outcome { hasValue = true }
        return outcome
    }

    private func board(_ key: Key) -> (Batch, Int) {
        open.withLock { open in
            if let batch = open, let (place, isFull) = batch.place(of: key, limit: limit) {
                if isFull { open = nil }
                return (batch, place)
            }
            let batch = Batch()
            open = limit > 1 ? batch : nil
            return (batch, batch.place(of: key, limit: limit)?.place ?? 0)
        }
    }

    /// Closes a batch to further keys.
    private func close(_ batch: Batch) {
        open.withLock { open in
            if open === batch { open = nil }
        }
    }
}
