/// Notices that memory runs short, and makes levels give some back.
///
/// ```swift
/// MemoryPressureMonitor.shared.subscribe(products)
/// ```
///
/// On Linux it reads once a second the kernel's counts for the control group of the process (`memory.events`, and the
/// stalls in `memory.pressure`). When memory had to be reclaimed while nine tenths of the limit were used for more than
/// copies of files, or some task stalled for a tenth of the time, levels shed a quarter (``MemoryPressure/moderate``);
/// when there was none left, or all tasks stalled, everything (``MemoryPressure/critical``). Reading needs no privilege
/// and runs on the one background thread of all memory levels, from the first subscription to the last. On other
/// systems nothing is noticed by itself. Pass on pressure that you notice elsewhere with ``report(_:)``.
///
/// A level gets the signal and is never cleared: it decides itself what to do.
public final class MemoryPressureMonitor: Sendable {
    /// The monitor of this process's control group.
    public static let shared = MemoryPressureMonitor(.ofThisProcess, every: .seconds(1))

    private struct State {
        var listeners: [UInt64: @Sendable (MemoryPressure) -> Void] = [:]
        var lastNumber: UInt64 = 0
        var last: (reading: MemoryPressureReading, at: MonotonicInstant)?
    }

    private let source: MemoryPressureSource
    private let period: Duration
    private let state = Locked(State())

    /// A monitor of files of the caller's choice, for tests.
    package init(_ source: MemoryPressureSource, every period: Duration) {
        self.source = source
        self.period = period
    }

    /// Sends memory pressure to a level from now on.
    ///
    /// - Returns: The subscription, which ends only when you cancel it. You need not keep it for a level that lives as
    ///   long as the process. The level lives at least as long as its subscription.
    @discardableResult
    public func subscribe(_ level: some CacheLevel) -> MemoryPressureSubscription {
        subscribe { level.relieve($0) }
    }

    /// Calls a closure on memory pressure from now on, on a thread of the library's: it must not take long.
    ///
    /// - Returns: The subscription, which ends only when you cancel it.
    @discardableResult
    public func subscribe(_ listener: @escaping @Sendable (MemoryPressure) -> Void) -> MemoryPressureSubscription {
        let number = state.withLock { state in
            if state.listeners.isEmpty { state.last = (source.read(), .now) }
            state.lastNumber += 1
            state.listeners[state.lastNumber] = listener
            return state.lastNumber
        }
        Housekeeper.shared.come(to: self, at: MonotonicInstant.now.advanced(by: period))
        return MemoryPressureSubscription { [self] in
            // It may hold a whole cache, and to release its values may run code of the user's: not under the lock.
            let listener = state.withLock { $0.listeners.removeValue(forKey: number) }
            withExtendedLifetime(listener) {}
        }
    }

    /// Sends memory pressure that you noticed elsewhere to all levels, on the caller's thread.
    public func report(_ pressure: MemoryPressure) {
        for listener in state.withLock({ $0.listeners }).values { listener(pressure) }
    }

    /// Reads the source, and sends pressure to all subscribers if it has got worse since the last time.
    ///
    /// - Returns: Whether there are subscribers.
    @discardableResult
    package func look(at now: MonotonicInstant = .now) -> Bool {
        let (pressure, listeners) = state.withLock { state in
            guard !state.listeners.isEmpty else { return (MemoryPressure?.none, state.listeners) }
            let reading = source.read()
            guard let last = state.last else {
                state.last = (reading, now)
                return (nil, state.listeners)
            }
            // Stalls that cannot be read now will be those of all the time since.
            let isBlind = reading.someStalled == nil && reading.allStalled == nil
            state.last = (reading.completed(by: last.reading), isBlind ? last.at : now)
            // The thread may be late: it does other work as well.
            let pause = max(period, last.at.duration(to: now))
            return (reading.pressure(since: last.reading, over: pause), state.listeners)
        }
        if let pressure { for listener in listeners.values { listener(pressure) } }
        return !listeners.isEmpty
    }
}

extension MemoryPressureMonitor: Watched {
    package func fire(at now: MonotonicInstant) -> MonotonicInstant {
        look(at: now) ? now.advanced(by: period) : .distantFuture
    }
}

/// The subscription of a level or a closure, until it is cancelled.
public final class MemoryPressureSubscription: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    /// Ends it, without waiting for a running call.
    public func cancel() { end() }
}
