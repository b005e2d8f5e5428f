/// Takes down the steps of one read.
///
/// Safe to share: a read may run in several tasks.
public final class ReceiptRecorder: Sendable {
    private let recorded = Locked<[Receipt.Step]>([])
    private let staleReason = Locked<Receipt.StaleReason?>(nil)

    /// An empty record.
    public init() {}

    /// The steps so far, in their order; also those of a read that has failed.
    public var steps: [Receipt.Step] { recorded.withLock { $0 } }

    /// Adds a step.
    public func step(
        _ event: Receipt.Event,
        at origin: EntryOrigin,
        from start: MonotonicInstant,
        to end: MonotonicInstant,
        whom: String? = nil,
        error: String? = nil
    ) {
        let duration = start.duration(to: end)
        let step = Receipt.Step(event: event, origin: origin, duration: duration, whom: whom, error: error)
        recorded.withLock { $0.append(step) }
    }

    /// Says why a stale value is handed out; the level nearest to the caller says so last.
    public func stale(because reason: Receipt.StaleReason) {
        staleReason.withLock { $0 = reason }
    }

    func receipt<Value>(for entry: Entry<Value>?, start: MonotonicInstant, end: MonotonicInstant) -> Receipt {
        let state: Receipt.State =
            switch entry?.content {
            case .value where entry?.isSuspect == true: .suspect
            case .value: entry?.isFresh(at: end) == false ? .stale : .fresh
            case .absent, nil: .absent
            }
        return Receipt(
            origin: entry?.origin,
            state: state,
            staleReason: state == .stale ? staleReason.withLock { $0 } : nil,
            age: entry?.age(at: end),
            duration: start.duration(to: end),
            steps: steps
        )
    }
}
