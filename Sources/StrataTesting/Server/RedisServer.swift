/// A real Redis or Valkey server for a test, private to this process, or the one that the environment names.
///
/// ```swift
/// let server = try await RedisServer.start(.init(directives: ["maxmemory 1mb"]))
/// let client = try RedisClient(server.url)
/// try await client.ping()
/// try await server.pause()  // frozen: accepts connections, answers nothing
/// try await server.resume()
/// try await server.restart(keepingData: false)
/// try await server.stop()
/// ```
///
/// A private server lives in a fresh folder under `/tmp`, listens on a Unix-domain socket there and on a free port of
/// the loopback interface, and is up in a few tens of milliseconds. Any number can run at once. It ends with
/// ``stop()``, with the last reference to it, or with this process, even when that crashes or is killed: a small guard
/// process ensures that and removes the folder as well.
///
/// All methods may be called from any task or thread. None of them blocks the cooperative pool: the kit waits on
/// threads of its own. Cancelling ``start(_:)`` or ``restart(keepingData:waitingForLoad:)`` ends the wait with
/// `CancellationError`; the other methods run to their end.
public final class RedisServer: Sendable {
    private enum Backing: Sendable {
        case launched(LaunchedServer)
        case external(RedisURL)
    }

    private static let sharedServer = Monitor<RedisServer?>(nil)

    private let backing: Backing

    init(_ server: LaunchedServer) {
        backing = .launched(server)
    }

    init(_ url: RedisURL) {
        backing = .external(url)
    }

    /// Starts a private server and waits until it answers.
    ///
    /// - Parameter configuration: How to start it.
    /// - Returns: The running server.
    /// - Throws: ``HarnessError``: no program found, the process ended early (with the last lines of its log), no
    ///   answer in time, no free address. `CancellationError` when the task is cancelled; then nothing is left behind.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> RedisServer {
        RedisServer(try await BlockingThread.run { try LaunchedServer.launch(configuration, $0) })
    }

    /// Starts a private server for the duration of a closure.
    ///
    /// - Parameters:
    ///   - configuration: How to start it.
    ///   - body: What to do with it. It is stopped afterwards, whether the closure returns or throws.
    /// - Returns: What the closure returns.
    /// - Throws: The errors of the start, the end and the closure; the closure's error comes first.
    public static func withServer<Result>(
        _ configuration: Configuration = Configuration(),
        _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start(configuration)
        let result: Result
        do {
            result = try await body(server)
        } catch {
            try? await server.stop()
            throw error
        }
        try await server.stop()
        return result
    }

    /// The one server that all tests of this process share: the one at the environment's `STRATA_REDIS_URL`, or a
    /// private one, which the first caller starts.
    ///
    /// It ends with the process. Tests that share it keep to key prefixes of their own and leave its settings alone.
    ///
    /// - Returns: The server; ``isExternal`` says which kind it is.
    /// - Throws: ``HarnessError`` as ``start(_:)``, or when the server that the environment names does not answer. The
    ///   next caller after a failure tries again.
    public static func shared() async throws -> RedisServer {
        try await BlockingThread.run { cancellation in
            try sharedServer.withLock { server throws in
                if let server, server.isExternal || server.isRunning { return server }
                let fresh = try makeShared(cancellation)
                server = fresh
                return fresh
            }
        }
    }

    private static func makeShared(_ cancellation: BlockingThread.Cancellation) throws -> RedisServer {
        guard let text = SystemCall.environment("STRATA_REDIS_URL") else {
            return RedisServer(try LaunchedServer.launch(Configuration(), cancellation))
        }
        let url = try RedisURL(text)
        let server = RedisServer(url)
        _ = try server.ask([Array("PING".utf8)], until: .now + .seconds(30))
        return server
    }

    /// Whether the server was there before this process.
    ///
    /// Such a server can be used, but not stopped, paused or restarted.
    public var isExternal: Bool {
        if case .external = backing { true } else { false }
    }

    /// Whether the process of a private server is alive (a paused one is); always `true` for an external server.
    public var isRunning: Bool { isExternal || pid != nil }

    /// The process id; `nil` when no process runs, and for an external server.
    ///
    /// Changes with a restart.
    public var pid: Int32? {
        if case .launched(let server) = backing { server.pid } else { nil }
    }

    /// Where clients connect: the TCP port if there is one, otherwise the Unix-domain socket.
    ///
    /// Stays the same over restarts.
    public var endpoint: TestEndpoint {
        switch backing {
        case .launched(let server): server.port.map { .loopback(port: $0) } ?? server.unixEndpoint
        case .external(let url): url.endpoint
        }
    }

    /// The Unix-domain socket of a private server; `nil` for an external one.
    public var unixEndpoint: TestEndpoint? {
        if case .launched(let server) = backing { server.unixEndpoint } else { nil }
    }

    /// The URL of the ``endpoint``, such as `redis://127.0.0.1:40321` or `unix:///tmp/strata-1x/redis.sock`, with the
    /// number of the ``database`` if it is not 0, and without ``credentials``.
    public var url: String { database == 0 ? endpoint.url : "\(endpoint.url)/\(database)" }

    /// The TCP port; `nil` when there is none.
    public var port: UInt16? { endpoint.port }

    /// The port on which a private server speaks TLS; `nil` when it speaks none.
    public var tlsPort: UInt16? {
        if case .launched(let server) = backing { server.tlsPort } else { nil }
    }

    /// The database that the URL of an external server names; 0 otherwise.
    public var database: Int {
        if case .external(let url) = backing { url.database } else { 0 }
    }

    /// The credentials of the configuration, or of the URL of an external server.
    public var credentials: Credentials? {
        switch backing {
        case .launched(let server): server.configuration.credentials
        case .external(let url): url.credentials
        }
    }

    /// The folder of a private server; `nil` for an external one.
    public var folder: String? {
        if case .launched(let server) = backing { server.folder.path } else { nil }
    }

    /// The last lines of the server's log.
    ///
    /// - Parameter lines: At most how many.
    /// - Returns: The lines, oldest first; none for an external or stopped server.
    public func logTail(lines: Int = 20) async -> [String] {
        guard case .launched(let server) = backing else { return [] }
        return (try? await BlockingThread.run { _ in server.logTail(lines: lines) }) ?? []
    }

    /// Ends the server (SIGTERM, and SIGKILL after the configured grace), waits for its end and removes its folder.
    ///
    /// May be called again. The server cannot be restarted afterwards.
    ///
    /// - Throws: ``HarnessError`` when the server is external, or its folder cannot be removed.
    public func stop() async throws {
        try await drive { server, _ in try server.stop() }
    }

    /// Ends the server as a crash would (SIGKILL), and returns when it is gone.
    ///
    /// Its folder and port stay for a restart.
    ///
    /// - Throws: ``HarnessError`` when the server is external or not running.
    public func kill() async throws {
        try await drive { server, _ in try server.kill() }
    }

    /// Freezes the server (SIGSTOP), and returns when it stands still.
    ///
    /// Its connections stay open, and the kernel goes on accepting new ones.
    ///
    /// - Throws: ``HarnessError`` when the server is external or not running.
    public func pause() async throws {
        try await drive { server, _ in try server.pause() }
    }

    /// Lets a frozen server go on (SIGCONT).
    ///
    /// - Throws: ``HarnessError`` when the server is external or not running.
    public func resume() async throws {
        try await drive { server, _ in try server.resume() }
    }

    /// Ends the server in any state, and starts it again on the same port and socket.
    ///
    /// - Parameters:
    ///   - keepingData: With `true` a running server saves its data first, and a dead one is started with the data that
    ///     it left on disk. With `false` it starts empty.
    ///   - waitingForLoad: With `false` the method returns while the server may still load its data (replying LOADING).
    /// - Throws: ``HarnessError`` when the server is external or was stopped, or as ``start(_:)``.
    public func restart(keepingData: Bool, waitingForLoad: Bool = true) async throws {
        try await drive { server, cancellation in
            try server.restart(keepingData: keepingData, waitingForLoad: waitingForLoad, cancellation)
        }
    }

    private func drive(
        _ body: @escaping @Sendable (LaunchedServer, BlockingThread.Cancellation) throws -> Void
    ) async throws {
        guard case .launched(let server) = backing else {
            throw HarnessError(.externalServer, "the server at \(endpoint) does not belong to this process")
        }
        try await BlockingThread.run { try body(server, $0) }
    }
}
