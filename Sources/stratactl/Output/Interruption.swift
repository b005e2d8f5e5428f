import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The wish to end, of the person or of the process that started the program: a command then shows what it has.
enum Interruption {
    private static let ending = EndingSignal()

    /// Whether one has come.
    static var isWanted: Bool { ending.first != 0 }

    /// Signals end the program no longer at once; a second one does.
    static func expect() {
        ending.expect()
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                if Interruption.ending.note(number) { _exit(1) }
            }
        }
    }

    /// Runs `body` to its end, or until a signal comes: then it is cancelled.
    ///
    /// - Returns: The outcome.
    static func heeding<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async -> Swift.Result<Result, any Error> {
        await withTaskGroup(of: Swift.Result<Result, any Error>?.self) { group in
            group.addTask { await Swift.Result { try await body() } }
            group.addTask {
                try? await wait(until: .distantFuture)
                return nil
            }
            var outcome: Swift.Result<Result, any Error>?
            for await ended in group {
                outcome = ended ?? outcome
                group.cancelAll()
            }
            return outcome ?? .failure(CancellationError())
        }
    }

    /// Returns when one has come, or after a time.
    ///
    /// - Throws: `CancellationError`.
    static func wait(until end: MonotonicInstant) async throws {
        while !isWanted, .now < end {
            try await Task.pause(for: min(.milliseconds(50), max(MonotonicInstant.now.duration(to: end), .zero)))
        }
    }
}
