import Strata
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The wish to end, of the person or of whoever has started the program: a command then shows what it has.
enum Interruption {
    /// The last signal that asked for the end; 0 for none.
    private static let wanted = Atomic<Int32>(0)

    /// Whether one has come.
    static var isWanted: Bool { wanted.load(ordering: .relaxed) != 0 }

    /// Signals end the program no longer at once; a second one does.
    static func expect() {
        wanted.store(0, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                if Interruption.wanted.exchange(number, ordering: .relaxed) != 0 { _exit(1) }
            }
        }
    }

    /// Returns when one has come, or after a time.
    ///
    /// - Throws: `CancellationError`.
    static func wait(until end: MonotonicInstant) async throws {
        while wanted.load(ordering: .relaxed) == 0, .now < end {
            try await Task.pause(for: min(.milliseconds(50), max(MonotonicInstant.now.duration(to: end), .zero)))
        }
    }
}
