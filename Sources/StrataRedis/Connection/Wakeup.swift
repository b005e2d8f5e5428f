internal import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The descriptor by which other threads wake the I/O thread out of `poll`, and the flag that spares most of those writes.
///
/// The thread announces that it is about to sleep, then looks once more, under each connection's lock, whether something
/// waits. A caller adds its command under that lock and looks at the flag afterwards. Whoever comes second at the lock
/// sees what the other did, so no wake-up is lost.
final class Wakeup: Sendable {
    /// Readable when the thread is to wake.
    let descriptor: Int32
    private let writer: Int32
    private let asleep = Atomic<Bool>(false)

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

    /// Wakes the thread if it sleeps, or is about to.
    @inline(__always)
    func signal() {
        guard asleep.load(ordering: .acquiring) else { return }
        write()
    }

    private func write() {
        guard asleep.exchange(false, ordering: .acquiringAndReleasing) else { return }
        var signal: UInt8 = 1
        #if canImport(Darwin)
        _ = Darwin.write(writer, &signal, 1)
        #elseif canImport(Musl)
        _ = Musl.write(writer, &signal, 1)
        #else
        _ = Glibc.write(writer, &signal, 1)
        #endif
    }

    /// Says that the thread is about to sleep.
    ///
    /// It must look for work once more afterwards.
    func announceSleep() {
        asleep.store(true, ordering: .sequentiallyConsistent)
    }

    /// Says that the thread is awake.
    func announceAwake() {
        asleep.store(false, ordering: .releasing)
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
