internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The I/O thread of a client, which the clients of a cluster's nodes share.
///
/// It drives groups of connections. It starts with the first group and ends with the last; a group that comes after
/// that starts it anew. So there is never more than one thread, and none while there is nothing to drive.
///
/// Proof that it ends: the thread keeps the loop and its groups alive, and lets go of a group when all its drivers have
/// finished. Each client stops its group when it is shut down, or when its last reference is gone.
final class IOLoop: Sendable {
    /// Wakes the thread.
    let wakeup: Wakeup
    private let state = Locked(State())

    private struct State {
        /// Groups that the thread has not seen yet.
        var arrivals: [ConnectionGroup] = []
        var isRunning = false
    }

    /// - Throws: ``RedisError`` when the system gives no descriptor.
    init() throws {
        wakeup = try Wakeup()
    }

    /// Drives a group from now on.
    ///
    /// - Throws: ``RedisError`` when the system gives no thread.
    func add(_ group: ConnectionGroup) throws {
        try state.withLock { state in
            // Under the lock, or a group could rely on a thread that does not come to be. It happens once in a loop's
            // life.
            if !state.isRunning {
                guard NativeThread.start(name: "strata-redis", run: { [self] in run() }) == 0 else {
                    throw RedisError(code: .connectionFailed, message: "the system cannot make a thread for I/O")
                }
                state.isRunning = true
            }
            state.arrivals.append(group)
        }
        wakeup.signal()
    }

    // MARK: The thread

    private func run() {
        let resources = LoopResources()
        // Drivers hold its buffer, and not it.
        defer { withExtendedLifetime(resources) {} }
        var round = LoopRound()
        while true {
            take(into: &round, resources)
            round.pump()
            if let waiting = round.beginBusyWait() {
                let found = watch(&round, resources)
                waiting.busyWait.ended(found: found)
                if found { continue }
            }
            // What came in between would otherwise wait for the next event.
            wakeup.announceSleep()
            take(into: &round, resources)
            round.pump()
            let ended = round.removeFinished()
            for group in ended { group.hasEnded() }
            if round.isEmpty, ends() { break }
            guard ended.isEmpty else { continue }
            sleep(&round)
        }
    }

    /// Takes over the groups that have come.
    private func take(into round: inout LoopRound, _ resources: LoopResources) {
        let arrivals = state.withLock { state in
            state.arrivals.isEmpty ? [] : exchange(&state.arrivals, with: [])
        }
        for group in arrivals { round.add(group, group.drivers(resources)) }
    }

    /// Whether the thread ends: nothing has come while the last group went.
    private func ends() -> Bool {
        state.withLock { state in
            guard state.arrivals.isEmpty else { return false }
            state.isRunning = false
            return true
        }
    }

    /// Looks for events and new calls without sleeping, for ``BusyWait/span`` at most.
    ///
    /// - Returns: Whether something came.
    private func watch(_ round: inout LoopRound, _ resources: LoopResources) -> Bool {
        wakeup.announceWatch()
        take(into: &round, resources)
        round.pump()
        round.list(wakeup.descriptor)
        let end = MonotonicInstant.now.advanced(byNanoseconds: BusyWait.span)
        while wakeup.isQuiet {
            if round.poll(milliseconds: 0) > 0 {
                handle(&round)
                wakeup.announceAwake()
            } else if MonotonicInstant.now >= end {
                return false
            }
        }
        return true
    }

    /// Sleeps until a socket, a caller or time has something.
    private func sleep(_ round: inout LoopRound) {
        round.list(wakeup.descriptor)
        let ready = round.poll(milliseconds: Self.milliseconds(until: round.nextDeadline))
        wakeup.announceAwake()
        if ready > 0 { handle(&round) }
    }

    private func handle(_ round: inout LoopRound) {
        if round.isWoken { wakeup.clear() }
        round.handle()
    }

    /// Rounded up, so that the deadline has passed when `poll` returns.
    private static func milliseconds(until deadline: MonotonicInstant) -> Int32 {
        guard deadline < .distantFuture else { return -1 }
        let left = MonotonicInstant.now.nanoseconds(to: deadline)
        return left <= 0 ? 0 : Int32(clamping: (left - 1) / 1_000_000 + 1)
    }
}
