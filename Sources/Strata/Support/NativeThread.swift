#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A detached POSIX thread for work that blocks, which must never happen on the cooperative pool.
///
/// All signals that a program handles are blocked on it from its first instruction, SIGPIPE among them: the disposition
/// of a signal belongs to the program and is left alone, and its handlers run on the program's own threads.
package enum NativeThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a thread; it costs some tens of microseconds.
    ///
    /// - Parameters:
    ///   - name: Shown by debuggers; the first 15 bytes of it on Linux.
    ///   - run: What the thread does; it ends when this returns.
    /// - Returns: 0, or the system's error number when it gives no thread.
    package static func start(name: String, run: @escaping @Sendable () -> Void) -> Int32 {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { unsafe pthread_attr_destroy(&attributes) }

        // A thread begins with the mask of the one that starts it. Faults stay deliverable, or a crash would go unseen.
        var blocked = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT] { unsafe sigdelset(&blocked, fault) }
        unsafe pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

        let body = unsafe Unmanaged.passRetained(Body(name: name, run: run))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let status = unsafe pthread_create(
            &thread,
            &attributes,
            { argument in
                #if canImport(Darwin)
                unsafe NativeThread.enter(argument)
                #else
                if let argument = unsafe argument { unsafe NativeThread.enter(argument) }
                #endif
                return nil
            },
            body.toOpaque()
        )
        if status != 0 { unsafe body.release() }
        return status
    }

    private static func enter(_ argument: UnsafeMutableRawPointer) {
        let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        #if canImport(Darwin)
        unsafe pthread_setname_np(body.name)
        #else
        setName(body.name)
        #endif
        body.run()
    }

    #if !canImport(Darwin)
    /// Through the file system: neither `prctl` nor `pthread_setname_np` can be called from Swift.
    private static func setName(_ name: String) {
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = unsafe write(file, name, min(name.utf8.count, 15))
        close(file)
    }
    #endif
}
