#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Another process that takes part in a test: an instance of a service, which the test can talk to, freeze and kill.
///
/// ```swift
/// let path = try InstanceProcess.builtProduct(named: "cache-instance")
/// let instance = try await InstanceProcess.start(path, arguments: [server.url])
/// try await instance.send("get 42")
/// for await line in instance.lines where line == "fetching 42" { break }
/// try await instance.kill()
/// ```
///
/// It leads a process group of its own, and inherits no descriptor but its three standard ones. It ends with
/// ``stop(grace:)``, with the last reference to it, or with this process, even when this one crashes or is killed;
/// processes that it forked into its group end with it.
///
/// All methods may be called from any task. None of them blocks the cooperative pool.
public final class InstanceProcess: Sendable {
    /// Where the standard error output goes.
    public enum StandardError: Sendable, Hashable {
        /// To this process's own; the default.
        case inherited
        /// To the ``InstanceProcess/lines``, between those of the standard output.
        case joined
        /// Nowhere.
        case discarded
    }

    private let process: GuardedProcess
    private let output: LineBuffer
    private let input: Monitor<StreamSocket>

    private init(process: GuardedProcess, output: LineBuffer, input: StreamSocket) {
        self.process = process
        self.output = output
        self.input = Monitor(input)
    }

    deinit {
        process.send(SIGKILL, toGroup: true)
        output.close()
    }

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - executable: Its path, or a name to search in PATH.
    ///   - arguments: Its arguments, without its own name.
    ///   - environment: Changes to this process's environment: a value sets a variable, `nil` removes it.
    ///   - folder: Where it starts; `/` by default, so that no test depends on where the run was started.
    ///   - standardError: Where its error output goes.
    ///   - bufferedLines: How many lines of output may wait to be read; 1024 by default, at least 1. Beyond that no
    ///     more is read, and in the end the process blocks as it writes.
    /// - Returns: The running process.
    /// - Throws: ``HarnessError`` when there is no such executable, or the system refuses. A missing folder shows as an
    ///   exit status of 1 or 2.
    public static func start(
        _ executable: String,
        arguments: [String] = [],
        environment: [String: String?] = [:],
        folder: String = "/",
        standardError: StandardError = .inherited,
        bufferedLines: Int = 1024
    ) async throws -> InstanceProcess {
        try await BlockingThread.run { _ in
            let path = try ExecutableSearch.path(of: executable)
            // Sockets, not pipes: sending to a process that is gone is an error then, not a SIGPIPE.
            let (input, itsInput) = try Descriptor.pair()
            let (output, itsOutput) = try Descriptor.pair()
            let error: Int32? =
                switch standardError {
                case .inherited: STDERR_FILENO
                case .joined: itsOutput.number
                case .discarded: nil
                }
            let process = try GuardedProcess(
                path,
                arguments,
                environment: environment,
                folder: folder,
                descriptors: (itsInput.number, itsOutput.number, error)
            )
            input.makeNonBlocking()
            let lines = LineBuffer(limit: max(bufferedLines, 1))
            let instance = InstanceProcess(
                process: process,
                output: lines,
                input: StreamSocket(input, isTCP: false)
            )
            let source = StreamSocket(output, isTCP: false)
            try BlockingThread.start { lines.fill(from: source) }
            return instance
        }
    }

    /// The path of an executable that was built together with the running tests.
    ///
    /// The test target must depend on the executable target, or it is not built.
    ///
    /// - Parameter name: The name of the executable target.
    /// - Returns: The path.
    /// - Throws: ``HarnessError`` when it is not there.
    public static func builtProduct(named name: String) throws -> String {
        try ExecutableSearch.path(of: ExecutableSearch.productsFolder() + "/" + name)
    }

    /// The process id.
    public var pid: Int32 { process.pid }

    /// How the process ended; `nil` while it runs or is frozen.
    public var exitStatus: ExitStatus? { process.exitStatus }

    /// The lines that the process writes to its standard output, without their ends.
    ///
    /// Ends when the process has ended and all was read, and for a cancelled task. Each line goes to one reader only. A
    /// line of more than 1 MiB comes in pieces of that size; bytes that are no UTF-8 are repaired.
    public var lines: Lines { Lines(buffer: output) }

    /// Writes a line to the standard input of the process.
    ///
    /// - Parameters:
    ///   - line: The line; its end is added.
    ///   - limit: How long the process may take to make room for it; 30 s by default.
    /// - Throws: ``HarnessError`` when the process has closed its input or ended, or the time is over; part of the line
    ///   may have been written then.
    public func send(_ line: String, within limit: Duration = .seconds(30)) async throws {
        let deadline = ContinuousClock.now + limit
        try await BlockingThread.run { [input] _ in
            // Under the lock, so that lines of several tasks are not mixed.
            try input.withLock { socket throws in
                try Self.write(Array((line + "\n").utf8), to: socket, until: deadline)
            }
        }
    }

    /// Ends the standard input of the process.
    public func endInput() async {
        _ = try? await BlockingThread.run { [input] _ in input.withLock { $0.endWriting() } }
    }

    /// Sends a signal to the process.
    ///
    /// - Parameter number: The signal, such as `SIGUSR1`.
    /// - Throws: ``HarnessError`` when the process has ended.
    public func signal(_ number: Int32) throws {
        guard process.send(number) else { throw HarnessError(.notRunning, "process \(pid) has ended") }
    }

    /// Freezes the process (SIGSTOP), and returns when all its threads stand still.
    ///
    /// - Throws: ``HarnessError`` when the process has ended.
    public func pause() async throws {
        try await BlockingThread.run { [process] _ in try process.stop(until: .now + .seconds(30)) }
    }

    /// Lets a frozen process go on (SIGCONT).
    ///
    /// - Throws: ``HarnessError`` when the process has ended.
    public func resume() throws {
        try signal(SIGCONT)
    }

    /// Waits until the process has ended by itself.
    ///
    /// - Returns: How it ended.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForExit() async throws -> ExitStatus {
        try await process.waitForExit()
    }

    /// Ends the process and its forks as a crash would (SIGKILL), and returns when it is gone.
    ///
    /// May be called again.
    ///
    /// - Returns: How it ended.
    /// - Throws: ``HarnessError`` when no thread can be started to wait for it.
    @discardableResult
    public func kill() async throws -> ExitStatus {
        try await BlockingThread.run { [process] _ in process.terminateAtOnce() }
    }

    /// Asks the process to end (SIGTERM), kills it when it takes too long, and returns when it is gone.
    ///
    /// May be called again.
    ///
    /// - Parameter grace: How long it may take; 2 s by default.
    /// - Returns: How it ended.
    /// - Throws: ``HarnessError`` when no thread can be started to wait for it.
    @discardableResult
    public func stop(grace: Duration = .seconds(2)) async throws -> ExitStatus {
        try await BlockingThread.run { [process] _ in process.terminate(grace: grace) }
    }

    private static func write(
        _ bytes: [UInt8],
        to socket: StreamSocket,
        until deadline: ContinuousClock.Instant
    ) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch socket.send(rest) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock:
                guard ContinuousClock.now < deadline else {
                    throw HarnessError(.deadlineExceeded, "the process does not read its input")
                }
                var readiness = Readiness()
                readiness.add(socket.number, .write)
                readiness.wait(until: deadline)
            case .ended, .failed: throw HarnessError(.notRunning, "the process does not read its input any more")
            }
        }
    }
}
