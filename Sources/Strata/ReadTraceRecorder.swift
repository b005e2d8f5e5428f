/// Records the steps of one read.
///
/// Safe to share: a read may run in several tasks.
public final class ReadTraceRecorder: Sendable {
    private let recorded = Locked<[ReadTrace.Step]>([])
    private let staleReason = Locked<ReadTrace.StaleReason?>(nil)
    private let fetchScope = Locked<(any FetchScope)?>(nil)

    /// An empty record.
    public init() {}

    /// The steps so far, in order; also those of a read that failed.
    public var steps: [ReadTrace.Step] { recorded.withLock { $0 } }

    /// What surrounds the fetches of this read; `nil` for nothing.
    package var scope: (any FetchScope)? {
        get { fetchScope.withLock { $0 } }
        set { fetchScope.withLock { $0 = newValue } }
    }

    /// Adds a step.
    public func step(
        _ event: ReadTrace.Event,
        at origin: EntryOrigin,
        from start: MonotonicInstant,
        to end: MonotonicInstant,
        whom: String? = nil,
        error: String? = nil
    ) {
        let duration = start.duration(to: end)
        let step = ReadTrace.Step(event: event, origin: origin, duration: duration, whom: whom, error: error)
        recorded.withLock { $0.append(step) }
    }

    /// Says why a stale value is returned.
    ///
    /// The level nearest to the caller calls it last.
    public func stale(because reason: ReadTrace.StaleReason) {
        staleReason.withLock { $0 = reason }
    }

    /// A value within its lifetime needs a reason as well, if the read was to replace it and that was in vain.
    private func reason(for state: ReadTrace.State) -> ReadTrace.StaleReason? {
        let reason = staleReason.withLock { $0 }
        switch state {
        case .stale: return reason
        case .fresh: return reason == .failed || reason == .late ? reason : nil
        case .suspect, .absent: return nil
        }
    }

    func trace<Value>(for entry: Entry<Value>?, at now: MonotonicInstant, took duration: Duration) -> ReadTrace {
        let state: ReadTrace.State =
            switch entry?.content {
            case .value where entry?.isSuspect == true: .suspect
            case .value: entry?.isFresh(at: now) == false ? .stale : .fresh
            case .absent, nil: .absent
            }
        return ReadTrace(
            origin: entry?.origin,
            state: state,
            staleReason: reason(for: state),
            age: entry?.age(at: now),
            duration: duration,
            steps: steps
        )
    }
}
