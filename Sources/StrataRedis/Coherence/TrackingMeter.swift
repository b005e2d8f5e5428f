internal import Logging
internal import Strata
internal import Synchronization

/// Measures what a client is told and reads, and has the mode of its links changed when another would cost the server
/// less.
///
/// To know what would be told of single keys it keeps what the server's table would have of one key in sixteen.
final class TrackingMeter: Sendable {
    private struct State: Sendable {
        var choice = TrackingChoice()
        /// Of the sample: what was read since it was changed.
        var sample: Set<UInt64> = []
        var held = 0
        var read = 0
        var since: MonotonicInstant?
    }

    /// One key in this many is looked at.
    private static let sampling: UInt64 = 16
    /// The most keys of the sample: what a server remembers by default is a million of all.
    private static let sampleLimit = 65_536
    private static let interval: Int64 = 10_000_000_000

    private let told = Atomic<Int>(0)
    /// The change that was counted last, and the listener that counted it.
    private let lastChange = Atomic<UInt64>(0)
    private let lastListener = Atomic<UInt>(0)
    private let state = Locked(State())
    private let logger: Logger?
    private let track: @Sendable (Bool) -> Void

    /// - Parameters:
    ///   - logger: Gets a line for each change of the mode.
    ///   - track: Has the server tell only of what was read, or of every change.
    init(logger: Logger?, track: @escaping @Sendable (Bool) -> Void) {
        self.logger = logger
        self.track = track
    }

    /// The mode that was chosen last.
    var mode: TrackingMode { state.withLock { $0.choice.tracksReads } ? .perKey : .broadcast }

    /// The server is asked for a key.
    func reads(_ fingerprint: UInt64) {
        guard Self.isSampled(fingerprint) else { return }
        state.withLock { state in
            state.read += 1
            if state.sample.count >= Self.sampleLimit { state.sample.removeAll(keepingCapacity: true) }
            state.sample.insert(fingerprint)
        }
    }

    /// How many changes were told since the last look.
    var toldChanges: Int { told.load(ordering: .relaxed) }

    /// A key was told to have changed.
    ///
    /// Listeners of one keyspace are told of a change one after the other, on the I/O thread; it counts once.
    func changed(_ fingerprint: UInt64, toldTo listener: AnyObject) {
        let listener = UInt(bitPattern: ObjectIdentifier(listener))
        let counted = lastListener.load(ordering: .relaxed)
        if lastChange.load(ordering: .relaxed) == fingerprint, counted != listener, counted != 0 { return }
        lastChange.store(fingerprint, ordering: .relaxed)
        lastListener.store(listener, ordering: .relaxed)
        told.wrappingAdd(1, ordering: .relaxed)
        guard Self.isSampled(fingerprint) else { return }
        state.withLock { state in
            if state.sample.remove(fingerprint) != nil { state.held += 1 }
        }
    }

    /// The server tells of every change, whatever was chosen.
    func refused(at now: MonotonicInstant = .now) { state.withLock { $0.choice.refused(at: now) } }

    /// Chooses anew when an interval is over.
    func look(at now: MonotonicInstant) {
        let chosen = state.withLock { state -> (Bool, TrackingChoice.Rates)? in
            guard let since = state.since else {
                state.since = now
                return nil
            }
            let passed = since.nanoseconds(to: now)
            guard passed >= Self.interval else { return nil }
            let seconds = Double(passed) / 1e9
            let factor = Double(Self.sampling) / seconds
            let rates = TrackingChoice.Rates(
                told: Double(told.exchange(0, ordering: .relaxed)) / seconds,
                held: Double(state.held) * factor,
                read: Double(state.read) * factor
            )
            (state.held, state.read, state.since) = (0, 0, now)
            return state.choice.judge(rates, at: now).map { ($0, rates) }
        }
        guard let (tracksReads, rates) = chosen else { return }
        logger?
            .info(
                tracksReads
                    ? "from now on the server reports only changes to what was read"
                    : "from now on the server reports every change",
                metadata: [
                    "told_per_second": "\(rates.told.rounded())", "held_per_second": "\(rates.held.rounded())",
                    "read_per_second": "\(rates.read.rounded())",
                ]
            )
        track(tracksReads)
    }

    private static func isSampled(_ fingerprint: UInt64) -> Bool {
        // Low bits may be those of the key's part.
        (fingerprint &* 0x9E37_79B9_7F4A_7C15) >> 60 < 16 / sampling
    }
}
