internal import Strata
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Threads of the kit's own, for work that blocks: the cooperative pool must never wait for a process or a socket.
package enum BlockingThread {
    /// Tells the work on a thread that the task waiting for it was cancelled.
    package final class Cancellation: Sendable {
        private let flag = Atomic(false)

        func cancel() {
            flag.store(true, ordering: .releasing)
        }

        package func check() throws {
            if flag.load(ordering: .acquiring) { throw CancellationError() }
        }
    }

    /// Starts a detached thread.
    static func start(_ body: @escaping @Sendable () -> Void) throws {
        let status = NativeThread.start(name: "strata-testing", run: body)
        guard status == 0 else {
            throw HarnessError(.launchFailed, "pthread_create: \(SystemCall.text(of: status))")
        }
    }

    /// Runs blocking work on a thread of its own and waits for it without blocking.
    ///
    /// Cancelling the waiting task only sets the flag that the work is given: whether and when it stops is its own
    /// choice.
    package static func run<Result: Sendable>(
        _ body: @escaping @Sendable (Cancellation) throws -> Result
    ) async throws -> Result {
        let cancellation = Cancellation()
        // The runtime orders a resume that comes before its await by an atomic of its own, which ThreadSanitizer does
        // not see; it sees this lock. (A state of no size would share its address with its neighbour, and be reported.)
        let handover = Monitor(false)
        let result = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Result, any Error>) in
                do {
                    try start {
                        let result = Swift.Result { try body(cancellation) }
                        handover.withLock { isDone in isDone = true }
                        continuation.resume(with: result)
                    }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        handover.withLock { isDone in precondition(isDone) }
        return result
    }

    /// Asks again and again, a millisecond apart, until there is an answer; throws when the time is over.
    package static func poll<Result>(
        for what: String,
        until deadline: ContinuousClock.Instant,
        every interval: Duration = .milliseconds(1),
        _ cancellation: Cancellation? = nil,
        _ answer: () throws -> Result?
    ) throws -> Result {
        while true {
            if let result = try answer() { return result }
            try cancellation?.check()
            guard ContinuousClock.now < deadline else {
                throw HarnessError(.deadlineExceeded, "waited too long for \(what)")
            }
            pause(interval)
        }
    }

    /// Blocks the calling thread.
    package static func pause(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        // An early end by a signal is harmless: every caller looks again.
        _ = unsafe nanosleep(&time, nil)
    }
}
