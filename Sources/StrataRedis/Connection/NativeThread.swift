#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A detached POSIX thread for work that blocks, which must never happen on the cooperative pool.
///
/// All signals that a program handles are blocked on it, SIGPIPE among them: the disposition of a signal belongs to the
/// program and is left alone, and its handlers run on the program's own threads.
enum NativeThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: Shown by debuggers; the first 15 bytes of it on Linux.
    ///   - run: What the thread does; it ends when this returns.
    /// - Returns: False when the system gives no thread.
    static func start(name: String, run: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }

        let body = Unmanaged.passRetained(Body(name: name, run: run))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let status = pthread_create(
            &thread,
            &attributes,
            { argument in
                #if canImport(Darwin)
                NativeThread.enter(argument)
                #else
                if let argument = argument { NativeThread.enter(argument) }
                #endif
                return nil
            },
            body.toOpaque()
        )
        if status != 0 { body.release() }
        return status == 0
    }

    private static func enter(_ argument: UnsafeMutableRawPointer) {
        let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        blockSignals()
        #if canImport(Darwin)
        pthread_setname_np(body.name)
        #else
        setName(body.name)
        #endif
        body.run()
    }

    #if !canImport(Darwin)
    /// Through the file system: neither `prctl` nor `pthread_setname_np` can be called from Swift.
    private static func setName(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, name, min(name.utf8.count, 15))
        close(file)
    }
    #endif

    /// Faults of the thread itself stay deliverable, or a crash would go unseen.
    private static func blockSignals() {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT] { sigdelset(&signals, fault) }
        pthread_sigmask(SIG_SETMASK, &signals, nil)
    }
}
