#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A child process that cannot outlive this process, whatever happens to it.
///
/// It is collected by a thread of its own the moment it ends. Signals go out only while it is not collected, so they
/// never hit a stranger that got the same id.
final class GuardedProcess: Sendable {
    private struct State: Sendable {
        var exit: ExitStatus?
        var waiters: [Int: CheckedContinuation<ExitStatus, any Error>] = [:]
        var nextWaiter = 0
    }

    // Reports itself to the guard (see there), leaves the guard's socket, and becomes the program.
    private static let trampoline = #"printf '+group %s\n' "$$" >&3 && exec 3>&- && cd "$1" && shift && exec "$@""#

    let pid: Int32
    private let processGuard: ProcessGuard
    private let state = Monitor(State())

    /// Starts a program; `descriptors` are its standard input, output and error (`nil`: `/dev/null`).
    init(
        _ executable: String,
        _ arguments: [String],
        environment changes: [String: String?],
        folder: String,
        descriptors: (Int32?, Int32?, Int32?)
    ) throws {
        processGuard = try ProcessGuard.current()
        let environment = Spawn.inheritedEnvironment(changing: changes)
        let spawn = Spawn(
            executable: "/bin/sh",
            arguments: ["-c", Self.trampoline, "strata-spawn", folder] + Self.renaming(environment) + [executable]
                + arguments,
            environment: environment,
            descriptors: [descriptors.0, descriptors.1, descriptors.2, processGuard.number]
        )
        pid = try spawn.start()
        do {
            try BlockingThread.start { [self] in collect() }
        } catch {
            kill(-pid, SIGKILL)
            collect()
            throw error
        }
    }

    /// What the shell runs before the program: some shells pass on only variables that they could name themselves, so
    /// another program adds the rest.
    private static func renaming(_ environment: [String: String]) -> [String] {
        let lost = environment.filter { name, _ in
            name.utf8.first.map { (0x30...0x39).contains($0) } ?? true
                || !name.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x5F
                }
        }
        return lost.isEmpty ? [] : ["env"] + lost.map { "\($0.key)=\($0.value)" }.sorted()
    }

    /// How it ended; `nil` while it runs.
    var exitStatus: ExitStatus? {
        state.withLock { $0.exit }
    }

    /// Sends a signal to the process, or with `toGroup` also to what it forked; `false` when it has ended.
    @discardableResult
    func send(_ signal: Int32, toGroup: Bool = false) -> Bool {
        state.withLock { state in
            state.exit == nil && kill(toGroup ? -pid : pid, signal) == 0
        }
    }

    /// Waits for the end without blocking.
    ///
    /// Throws `CancellationError` when the waiting task is cancelled.
    func waitForExit() async throws -> ExitStatus {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<ExitStatus, any Error>) in
                let outcome: Result<ExitStatus, any Error>? = state.withLock { state in
                    if let exit = state.exit { return .success(exit) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let outcome {
                    continuation.resume(with: outcome)
                }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends the process: SIGTERM, and SIGKILL when it is still there after `grace`.
    ///
    /// Blocks until it is collected.
    @discardableResult
    func terminate(grace: Duration) -> ExitStatus {
        send(SIGTERM)
        // A stopped process would see the signal only when it runs again.
        send(SIGCONT)
        let status = try? BlockingThread.poll(for: "the end", until: .now + grace) { exitStatus }
        return status ?? terminateAtOnce()
    }

    /// Ends the process and what it forked by SIGKILL.
    ///
    /// Blocks until it is collected.
    @discardableResult
    func terminateAtOnce() -> ExitStatus {
        send(SIGKILL, toGroup: true)
        return state.wait(until: { $0.exit != nil }, then: { $0.exit ?? .unknown })
    }

    /// Stops the process (SIGSTOP) and blocks until all its threads stand still.
    func stop(until deadline: ContinuousClock.Instant) throws {
        guard send(SIGSTOP) else { throw HarnessError(.notRunning, "process \(pid) has ended") }
        _ = try BlockingThread.poll(for: "process \(pid) to stop", until: deadline) {
            var information = unsafe siginfo_t()
            let result = unsafe waitid(P_PID, id_t(pid), &information, WSTOPPED | WNOHANG | WNOWAIT)
            guard result == 0 else { throw HarnessError(.notRunning, "process \(pid) has ended") }
            return unsafe information.si_signo == SIGCHLD ? true : nil
        }
    }

    private func collect() {
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        // Until it is collected below, its id and group belong to no other process: its children end with it.
        kill(-pid, SIGKILL)
        processGuard.release(group: pid)
        let waiters = state.change { state in
            var status: Int32 = 0
            let collected = unsafe waitpid(pid, &status, 0)
            state.exit = collected == pid ? ExitStatus(waitStatus: status) : .unknown
            defer { state.waiters = [:] }
            return (state.exit ?? .unknown, state.waiters.values)
        }
        for waiter in waiters.1 {
            waiter.resume(returning: waiters.0)
        }
    }
}
