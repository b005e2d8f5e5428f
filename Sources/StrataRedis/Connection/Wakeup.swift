internal import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The descriptor by which other threads wake the I/O thread out of `poll`, and the state that spares most of those
/// writes.
///
/// The thread announces that it is about to sleep, then looks once more, under each connection's lock, whether
/// something waits. A caller adds its command under that lock and looks at the state afterwards. The second at the lock
/// sees what the first did, so no wake-up is lost.
final class Wakeup: Sendable {
    /// Readable when the thread is to wake.
    let descriptor: Int32
    private let writer: Int32
    private let state = Atomic<State>(.awake)

    private enum State: UInt8, AtomicRepresentable {
        case awake
        /// Looks for events without sleeping, and at this state.
        case watching
        case asleep
    }

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Self.failure() }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        descriptor = ends[0]
        writer = ends[1]
    }

    deinit {
        close(descriptor)
        close(writer)
    }

    /// Whether the thread waits for something to do.
    @inline(__always)
    var isQuiet: Bool { state.load(ordering: .sequentiallyConsistent) != .awake }

    /// Wakes the thread if it sleeps, or is about to.
    @inline(__always)
    func signal() {
        guard isQuiet else { return }
        wake()
    }

    private func wake() {
        guard state.exchange(.awake, ordering: .acquiringAndReleasing) == .asleep else { return }
        var signal: UInt8 = 1
        #if canImport(Darwin)
        _ = Darwin.write(writer, &signal, 1)
        #elseif canImport(Musl)
        _ = Musl.write(writer, &signal, 1)
        #else
        _ = Glibc.write(writer, &signal, 1)
        #endif
    }

    /// Says that the thread looks for events itself for a moment.
    ///
    /// It must look for work once more afterwards.
    func announceWatch() {
        state.store(.watching, ordering: .sequentiallyConsistent)
    }

    /// Says that the thread is about to sleep.
    ///
    /// It must look for work once more afterwards.
    func announceSleep() {
        state.store(.asleep, ordering: .sequentiallyConsistent)
    }

    /// Says that the thread is awake.
    func announceAwake() {
        state.store(.awake, ordering: .releasing)
    }

    /// Takes all signals off the descriptor.
    func clear() {
        var drain: UInt64 = 0
        while read(descriptor, &drain, MemoryLayout<UInt64>.size) == MemoryLayout<UInt64>.size {}
    }

    private static func failure() -> RedisError {
        RedisError(code: .connectionFailed, message: "no descriptor for the I/O thread: \(SystemError.current)")
    }
}
