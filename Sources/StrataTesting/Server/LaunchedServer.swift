#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A server process with its folder and port, over all its restarts.
///
/// All methods block; ``RedisServer`` calls them on threads that may.
final class LaunchedServer: Sendable {
    private static let logName = "server.log"
    private static let configurationName = "redis.conf"
    private static let dataName = "data"
    /// How far the bus port of a cluster node lies above its port.
    private static let busOffset: UInt16 = 10_000

    let configuration: RedisServer.Configuration
    let folder: TemporaryFolder
    let port: UInt16?
    let tlsPort: UInt16?
    private let executable: String
    private let reservation: PortReservation?
    private let tlsReservation: PortReservation?

    // One operation at a time; held while a server starts or ends.
    private let lifecycle = Monitor(())
    private let process = Monitor<GuardedProcess?>(nil)

    var unixEndpoint: TestEndpoint { .unix(path: "\(folder.path)/redis.sock") }

    /// The process id, or `nil` while no process runs.
    var pid: Int32? {
        process.withLock { $0 }.flatMap { $0.exitStatus == nil ? $0.pid : nil }
    }

    /// Starts a server and waits until it answers.
    ///
    /// Takes another port when the chosen one is taken.
    static func launch(
        _ configuration: RedisServer.Configuration,
        _ cancellation: BlockingThread.Cancellation
    ) throws -> LaunchedServer {
        let deadline = ContinuousClock.now + configuration.startDeadline
        var attempt = 0
        while true {
            attempt += 1
            let server = try LaunchedServer(configuration)
            do {
                try server.start(until: deadline, cancellation)
                return server
            } catch {
                try? server.stop()
                let isClash = (error as? HarnessError)?.code == .addressInUse
                guard isClash, configuration.port == nil, attempt < 5 else { throw error }
            }
        }
    }

    private init(_ configuration: RedisServer.Configuration) throws {
        self.configuration = configuration
        executable = try Self.executable(for: configuration)
        let wantsPort = configuration.listensOnTCP && configuration.port == nil
        let busOffset = configuration.role == .clusterNode ? Self.busOffset : nil
        // The bus of a cluster lies beside the port by which its nodes know each other.
        let hasTLS = configuration.tls != nil
        reservation = wantsPort ? try PortReservation(companionOffset: hasTLS ? nil : busOffset) : nil
        port = configuration.listensOnTCP ? configuration.port ?? reservation?.port : nil
        tlsReservation = hasTLS ? try PortReservation(companionOffset: busOffset) : nil
        tlsPort = tlsReservation?.port
        folder = try TemporaryFolder()
        do {
            // Found out here, it is an error with the path in it instead of a server that never answers.
            _ = try SocketAddress.numeric(unixEndpoint)
            try folder.makeFolder(Self.dataName)
            try folder.write(configurationText(), to: Self.configurationName)
        } catch {
            try? folder.remove()
            throw error
        }
    }

    deinit {
        guard let process = process.withLock({ $0 }) else { return }
        process.send(SIGKILL, toGroup: true)
        try? BlockingThread.start { [folder] in
            process.terminateAtOnce()
            try? folder.remove()
        }
    }

    func logTail(lines: Int) -> [String] {
        folder.tail(of: Self.logName, lines: lines)
    }

    /// Ends the server in good order and removes its folder.
    ///
    /// May be repeated.
    func stop() throws {
        try lifecycle.withLock { _ in
            process.withLock { $0 }?.terminate(grace: configuration.stopGrace)
            process.withLock { $0 = nil }
            try folder.remove()
        }
    }

    /// Ends the server by SIGKILL; its folder stays.
    func kill() throws {
        try lifecycle.withLock { _ in
            _ = try running().terminateAtOnce()
        }
    }

    func pause() throws {
        try lifecycle.withLock { _ in
            try running().stop(until: .now + .seconds(30))
        }
    }

    func resume() throws {
        try lifecycle.withLock { _ in
            _ = try running().send(SIGCONT)
        }
    }

    /// Ends the server if it runs and starts it again at the same place.
    func restart(keepingData: Bool, waitingForLoad: Bool, _ cancellation: BlockingThread.Cancellation) throws {
        try lifecycle.withLock { _ in
            guard let current = process.withLock({ $0 }) else {
                throw HarnessError(.notRunning, "the server was stopped and its folder removed")
            }
            let deadline = ContinuousClock.now + configuration.startDeadline
            if keepingData {
                if current.send(SIGCONT) { try save(until: deadline) }
                current.terminate(grace: configuration.stopGrace)
            } else {
                current.terminateAtOnce()
                try folder.empty(Self.dataName)
            }
            try startHoldingLock(until: deadline, waitingForLoad: waitingForLoad, cancellation)
        }
    }

    private func start(until deadline: ContinuousClock.Instant, _ cancellation: BlockingThread.Cancellation) throws {
        try lifecycle.withLock { _ in
            try startHoldingLock(until: deadline, waitingForLoad: true, cancellation)
        }
    }

    private func startHoldingLock(
        until deadline: ContinuousClock.Instant,
        waitingForLoad: Bool,
        _ cancellation: BlockingThread.Cancellation
    ) throws {
        let log = try folder.appending(to: Self.logName)
        let arguments = ["\(folder.path)/\(Self.configurationName)"]
        let started = try GuardedProcess(
            executable,
            configuration.role == .sentinel ? arguments + ["--sentinel"] : arguments,
            environment: configuration.environment,
            folder: folder.path,
            descriptors: (nil, log.number, log.number)
        )
        process.withLock { $0 = started }
        do {
            try awaitAnswer(of: started, waitingForLoad: waitingForLoad, until: deadline, cancellation)
        } catch let error as HarnessError {
            throw HarnessError(error.code, error.message, logTail: logTail(lines: 10), cause: error.cause)
        }
    }

    private func awaitAnswer(
        of process: GuardedProcess,
        waitingForLoad: Bool,
        until deadline: ContinuousClock.Instant,
        _ cancellation: BlockingThread.Cancellation
    ) throws {
        _ = try BlockingThread.poll(for: "an answer from \(executable)", until: deadline, cancellation) {
            if let status = process.exitStatus {
                let isClash = logTail(lines: 10).contains { $0.contains("Address already in use") }
                throw HarnessError(
                    isClash ? .addressInUse : .exitedEarly,
                    "\(executable) \(status) before it answered"
                )
            }
            do {
                var connection = try RawConnection(to: unixEndpoint, until: min(deadline, .now + .seconds(1)))
                _ = try connection.command(["PING"])
                return true
            } catch let error as HarnessError {
                // A server that refuses (without a password, say) is up. One that is loading will be.
                guard error.code == .errorReply else { return nil }
                return waitingForLoad && error.message.hasPrefix("LOADING") ? nil : true
            }
        }
    }

    private func running() throws -> GuardedProcess {
        guard let process = process.withLock({ $0 }), process.exitStatus == nil else {
            throw HarnessError(.notRunning, "the server is not running")
        }
        return process
    }

    // The default configuration saves nothing by itself.
    private func save(until deadline: ContinuousClock.Instant) throws {
        guard configuration.role != .sentinel else { return }
        var connection = try RawConnection(to: unixEndpoint, until: deadline)
        try connection.authenticate(configuration.credentials)
        do {
            _ = try connection.command(["SAVE"])
        } catch let error as HarnessError where error.message.contains("Background save already in progress") {
            // That one may have begun before the latest write.
            _ = try BlockingThread.poll(for: "a background save to end", until: deadline) {
                (try? connection.command(["SAVE"])).map { _ in true }
            }
        }
    }

    private func configurationText() -> String {
        var lines: [RedisServer.Directive] = [
            "daemonize no",
            .init("bind", "127.0.0.1"),
            .init("port", String(port ?? 0)),
            .init("unixsocket", "\(folder.path)/redis.sock"),
            "unixsocketperm 700",
            .init("dir", "\(folder.path)/\(Self.dataName)"),
            .init("logfile", ""),
            .init("save", ""),
            "appendonly no",
        ]
        if configuration.role == .clusterNode {
            lines += ["cluster-enabled yes", .init("cluster-config-file", "\(folder.path)/nodes.conf")]
        }
        if let credentials = configuration.credentials, credentials.username == nil {
            lines.append(.init("requirepass", credentials.password))
        }
        if let tls = configuration.tls, let tlsPort { lines += tls.directives(port: tlsPort) }
        lines += configuration.directives
        return lines.map { $0.line + "\n" }.joined()
    }

    private static func executable(for configuration: RedisServer.Configuration) throws -> String {
        if let name = configuration.executable ?? SystemCall.environment("STRATA_REDIS_SERVER") {
            return try ExecutableSearch.path(of: name)
        }
        do {
            return try ExecutableSearch.path(of: "redis-server")
        } catch {
            return try ExecutableSearch.path(of: "valkey-server")
        }
    }
}
