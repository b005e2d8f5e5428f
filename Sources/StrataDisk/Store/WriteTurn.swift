#if Disk
internal import Strata

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// How long a write waits for those of other processes, from the moment of its call.
final class WriteWait: Sendable {
    let deadline: MonotonicInstant
    private let cancelled = Locked(false)

    init(deadline: MonotonicInstant) {
        self.deadline = deadline
    }

    func cancel() { cancelled.withLock { $0 = true } }

    var isOver: Bool { cancelled.withLock { $0 } || .now >= deadline }
}

/// What the connections of a file do while another process has it locked.
///
/// Writes take turns. SQLite would have each of them wait for the whole time once its turn has come, so that the
/// hundredth waits a hundred times as long. Here one whose time is up when its turn comes asks once.
final class WriteTurn: Sendable {
    /// How long SQLite is left alone between two attempts, in microseconds.
    private static let pause: UInt32 = 5_000

    private struct Turn {
        var wait: WriteWait
        var thread: UInt
    }

    private let current = Locked<Turn?>(nil)
    /// How many pauses a connection takes while no write is called on it.
    private let most: Int

    init(_ timeout: Duration) {
        most = Int(clamping: max(timeout, .zero).saturatedNanoseconds / (Int64(Self.pause) * 1_000))
    }

    /// Whether a write has its turn.
    var isTaken: Bool { current.withLock { $0 != nil } }

    /// Runs the write whose turn it is, on this thread.
    func take<Result>(_ wait: WriteWait, _ body: () throws -> Result) rethrows -> Result {
        current.withLock { $0 = Turn(wait: wait, thread: Self.thread) }
        defer { current.withLock { $0 = nil } }
        return try body()
    }

    /// Called where the file is locked: pauses and says to try again, or gives up.
    func tryAgain(after tries: Int) -> Bool {
        let turn = current.withLock { $0 }
        guard turn.map({ $0.thread == Self.thread ? !$0.wait.isOver : tries < most }) ?? (tries < most) else {
            return false
        }
        usleep(Self.pause)
        return true
    }

    private static var thread: UInt {
        #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
        #else
        UInt(pthread_self())
        #endif
    }
}
#endif
