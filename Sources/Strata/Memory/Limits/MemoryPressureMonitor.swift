/// Hears that memory runs short, and tells levels to give some back.
///
/// ```swift
/// MemoryPressureMonitor.shared.subscribe(products)
/// ```
///
/// On Linux it looks once a second at what the kernel counts for the control group of the process (`memory.events`, and
/// the stalls in `memory.pressure`): where memory had to be reclaimed or some task stalled for a tenth of the time,
/// levels shed a quarter (``MemoryPressure/moderate``); where there was none to be had, or all tasks stalled,
/// everything (``MemoryPressure/critical``). Looking needs no privilege and runs on the one background thread of all
/// memory levels, from the first subscription to the last. On other systems nothing is told by itself. Who learns of
/// pressure from elsewhere passes it on with ``report(_:)``.
///
/// A level is told, never cleared: what it does about it is its own business.
public final class MemoryPressureMonitor: Sendable {
    /// The one that watches this process's control group.
    public static let shared = MemoryPressureMonitor(.ofThisProcess, every: .seconds(1))

    private struct State {
        var listeners: [UInt64: @Sendable (MemoryPressure) -> Void] = [:]
        var lastNumber: UInt64 = 0
        var last: MemoryPressureReading?
    }

    private let source: MemoryPressureSource
    private let period: Duration
    private let state = Locked(State())

    /// A monitor of files of the caller's choice, for tests.
    package init(_ source: MemoryPressureSource, every period: Duration) {
        self.source = source
        self.period = period
    }

    /// Tells a level of memory pressure from now on.
    ///
    /// - Returns: Ends it when it is cancelled, and only then: for a level that lives as long as the process it need
    ///   not be kept. The level lives at least as long as its subscription.
    @discardableResult
    public func subscribe(_ level: some CacheLevel) -> MemoryPressureSubscription {
        subscribe { level.relieve($0) }
    }

    /// Calls a closure on memory pressure from now on, on a thread of the library's: it must not take long.
    ///
    /// - Returns: Ends it when it is cancelled, and only then.
    @discardableResult
    public func subscribe(_ listener: @escaping @Sendable (MemoryPressure) -> Void) -> MemoryPressureSubscription {
        let number = state.withLock { state in
            if state.listeners.isEmpty { state.last = source.read() }
            state.lastNumber += 1
            state.listeners[state.lastNumber] = listener
            return state.lastNumber
        }
        Housekeeper.shared.come(to: self, at: MonotonicInstant.now.advanced(by: period))
        return MemoryPressureSubscription { [self] in state.withLock { $0.listeners[number] = nil } }
    }

    /// Tells all levels of memory pressure that was found out elsewhere, on the caller's thread.
    public func report(_ pressure: MemoryPressure) {
        for listener in state.withLock({ $0.listeners }).values { listener(pressure) }
    }

    /// Looks at the source, and tells everybody if it has got worse since the last time.
    ///
    /// - Returns: Whether anybody listens.
    @discardableResult
    package func look() -> Bool {
        let (pressure, listeners) = state.withLock { state in
            guard !state.listeners.isEmpty else { return (MemoryPressure?.none, state.listeners) }
            let reading = source.read()
            defer { state.last = reading }
            return (reading.pressure(since: state.last ?? reading, over: period), state.listeners)
        }
        if let pressure { for listener in listeners.values { listener(pressure) } }
        return !listeners.isEmpty
    }
}

extension MemoryPressureMonitor: BackgroundJob {
    func runDue(at now: MonotonicInstant) -> MonotonicInstant {
        look() ? now.advanced(by: period) : .distantFuture
    }
}

/// A level's or a closure's right to be told of memory pressure, until it is cancelled.
public final class MemoryPressureSubscription: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    /// Ends it; a call that is under way is not waited for.
    public func cancel() { end() }
}
