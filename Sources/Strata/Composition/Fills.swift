internal import Synchronization

/// Fills of a slow level, each in a task of its own.
///
/// A read waits for its fill for a moment; after that, the fill is owned, bounded and drained here.
final class Fills: Sendable {
    /// The outcome of a fill, as its read sees it.
    enum Outcome: Sendable {
        /// It is done.
        case done(Ticket?)
        /// It has failed.
        case failed(any Error)
        /// It goes on.
        case late
        /// Too many go on already.
        case refused
    }

    /// How long reads do not wait for fills after one was late.
    private static let rest: Duration = .seconds(1)

    /// How long a read waits.
    let waitLimit: Duration
    private let flights: Flights<UInt64, Ticket?>
    private let clock: CacheClock
    private let last = Atomic<UInt64>(0)
    private let noWaitUntil = Atomic<Int64>(0)

    init(waitLimit: Duration, _ clock: CacheClock) {
        self.waitLimit = waitLimit
        self.clock = clock
        flights = Flights(clock: clock, anchorLimit: 64, completionLimit: .seconds(10))
    }

    /// Begins a fill and waits for it, unless fills have been late just now.
    ///
    /// - Parameter work: Fills the level, and counts its failure.
    /// - Returns: The outcome.
    func run(_ work: @escaping @Sendable () async throws -> Ticket?) async -> Outcome {
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        let now = clock.now
        let waits = waitLimit > .zero && noWaitUntil.load(ordering: .relaxed) <= now.nanoseconds
        guard waits else { return flights.launch(number, work) ? .late : .refused }
        do {
            return .done(
                try await flights.join(number, limit: WaitLimit(sinceJoining: waitLimit)) { _ in
                    try await work()
                }
                .output
            )
        } catch is WaitLimitReached {
            noWaitUntil.store(clock.now.advanced(by: Self.rest).nanoseconds, ordering: .relaxed)
            return .late
        } catch {
            return .failed(error)
        }
    }

    /// Waits for fills in the background.
    func drain(within limit: Duration) async { await flights.drain(within: limit) }
}
