internal import Logging
internal import Strata
internal import Synchronization

/// A client of a Redis or Valkey server, of the primary that Sentinels name, or of a cluster.
///
/// All tasks share a few connections, on which it pipelines calls by itself.
///
/// It works as soon as it is made: its I/O thread starts, and connects, with the first call. Tie it to the life of an
/// application with ``run()``, or give it to a `ServiceGroup`; when the last reference goes away, it closes.
///
/// ```swift
/// let redis = try RedisClient("redis://localhost:6379")
/// try await redis.set("greeting", Array("hello".utf8), expiringIn: .seconds(60))
/// let greeting = try await redis.get("greeting")
/// ```
///
/// Every call has a deadline (``RedisConfiguration/commandTimeout`` unless it states its own) and can be cancelled;
/// both release the caller at once and leave the connection as it is. After a lost connection, commands that may be
/// repeated without harm are retried once inside the deadline, unless their own reply broke it; all others are retried
/// only if they were certainly not run.
public final class RedisClient: Sendable {
    /// The configuration that the client was made with.
    public let configuration: RedisConfiguration
    /// What the caches of the client go by: lifetimes, leases, breakers.
    ///
    /// Connections and calls go by the system's clock.
    let clock: CacheClock
    private let group: ConnectionGroup
    /// What lives and dies with the client, and stands above it.
    let companion: any ClientCompanion
    /// The way to the nodes of a cluster, each with a client of its own; `nil` for a single server.
    let cluster: ClusterRouter?
    /// Lets commands out that are parts of calls about many keys: half of what one connection takes.
    let manyKeys: FetchLimiter
    private let turn = Atomic<Int>(0)
    private let demotion = Locked(Demotion())

    /// - Parameters:
    ///   - configuration: The server, limits and timeouts.
    ///   - logger: Gets one line for each change of the connections' state.
    ///   - loop: The I/O thread; the clients of a cluster's nodes share one.
    ///   - companion: Makes what lives and dies with the client, given what wakes its thread.
    ///   - makeNode: Makes the client of a cluster's node, or of a replica, by its configuration.
    /// - Throws: ``RedisError/Code/invalidConfiguration``.
    init(
        _ configuration: RedisConfiguration,
        logger: Logger?,
        loop: IOLoop,
        companion: (Wakeup) -> any ClientCompanion,
        node makeNode: @escaping @Sendable (RedisConfiguration) throws -> RedisClient
    ) throws {
        try configuration.validate()
        self.configuration = configuration
        manyKeys = FetchLimiter(limit: configuration.inFlightLimit / 2)
        let clock = CacheClock.current
        self.clock = clock
        self.companion = companion(loop.wakeup)
        // Nodes show up later, and go by the same clock.
        let nodes: @Sendable (RedisConfiguration) throws -> RedisClient = { node in
            try clock.governing { try makeNode(node) }
        }
        cluster =
            configuration.isRouted
            ? ClusterRouter(configuration, logger: logger, observer: self.companion.clusterObserver, nodes) : nil
        group = ConnectionGroup(
            configuration: configuration,
            logger: logger,
            loop: loop,
            locator: PrimaryLocator.maker(configuration, logger: logger),
            attachment: self.companion
        )
    }

    deinit {
        companion.stop()
        _ = cluster?.stop()
        group.stop(by: .distantPast)
    }

    // MARK: Life

    /// Runs until the task is cancelled or, in a `ServiceGroup`, until graceful shutdown begins; then shuts the client
    /// down.
    ///
    /// Graceful shutdown repeats failed invalidations and lets calls under way finish for up to
    /// ``RedisConfiguration/commandTimeout``; cancellation fails them at once. Calls made afterwards throw
    /// ``RedisError/Code/shutDown``.
    public func run() async throws {
        try start()
        switch await Lifetime.end() {
        case .graceful: await shutDown(within: configuration.commandTimeout)
        case .cancelled: await shutDown(within: .zero)
        }
    }

    /// Ends the client: no more calls are taken, those under way finish or fail with ``RedisError/Code/shutDown``.
    ///
    /// Invalidations that have failed are repeated first.
    ///
    /// - Parameter grace: How long those and the calls under way may still take.
    public func shutDown(within grace: Duration = .zero) async {
        let deadline = MonotonicInstant.now.advanced(by: grace)
        await companion.finish(by: deadline, self)
        await withTaskGroup(of: Void.self) { group in
            for node in cluster?.stop() ?? [] {
                group.addTask { await node.shutDown(within: MonotonicInstant.now.duration(to: deadline)) }
            }
        }
        group.stop(by: deadline)
        await group.waitUntilStopped()
    }

    // MARK: Calls

    /// Sends any command.
    ///
    /// In a cluster it goes to the node that serves its keys, which it finds by their positions in the command, or to
    /// any primary if it has none. Keys in different slots are refused with ``RedisError/Code/crossSlot``.
    ///
    /// - Parameters:
    ///   - command: The name and its arguments, as bytes. Do not send commands that block, subscribe or change the
    ///     connection's state: the connection is shared, and they are not checked for.
    ///   - repeatable: Whether the command may be sent again when it is not known whether the server has run it.
    ///   - timeout: How long the call may take; ``RedisConfiguration/commandTimeout`` by default.
    /// - Returns: The reply; errors inside an array are values.
    /// - Throws: ``RedisError``, also for an error reply; `CancellationError`.
    public func send(
        _ command: [[UInt8]],
        repeatable: Bool = false,
        timeout: Duration? = nil
    ) async throws -> RESPValue {
        guard !command.isEmpty else {
            throw RedisError(code: .invalidArgument, message: "a command without a name")
        }
        let slot = cluster == nil ? nil : try CommandKeys.slot(of: command)
        return try await execute(repeatable ? .repeatable : .once, timeout: timeout, slot: slot) { writer in
            writer.begin(command.count)
            for argument in command { writer.argument(argument) }
        }
    }

    /// Sends any command, given as text.
    ///
    /// - Parameters:
    ///   - command: The name and its arguments; for example `"CONFIG", "GET", "maxmemory"`.
    ///   - timeout: How long the call may take; ``RedisConfiguration/commandTimeout`` by default.
    /// - Returns: The reply; errors inside an array are values.
    /// - Throws: ``RedisError``, also for an error reply; `CancellationError`.
    public func send(_ command: String..., timeout: Duration? = nil) async throws -> RESPValue {
        try await send(command.map { Array($0.utf8) }, timeout: timeout)
    }

    /// Whether a command may be run twice.
    enum Repetition {
        case repeatable
        case once
    }

    @inline(__always)
    func execute(
        _ repetition: Repetition,
        timeout: Duration? = nil,
        slot: @autoclosure () -> UInt16? = nil,
        on connection: Connection? = nil,
        expecting expected: ReplyKinds = .any,
        divisible isDivisible: Bool = false,
        encode: (inout CommandWriter) -> Void
    ) async throws -> RESPValue {
        if let cluster {
            let call = ClusterCall(
                repetition: repetition,
                deadline: MonotonicInstant.coarse.advanced(by: timeout ?? configuration.commandTimeout),
                slot: slot(),
                expected: expected,
                isDivisible: isDivisible
            )
            // Most calls are over after one attempt, which is made here: each function that waits costs the call its
            // share.
            guard let way = cluster.way(to: call.slot, on: connection) else {
                return try await cluster.execute(call, on: connection, encode: encode)
            }
            let outcome: ClusterRouter.Outcome
            do {
                defer { withExtendedLifetime(way.client) {} }
                let reply = try await way.connection
                    .call(deadline: call.deadline, expecting: expected, encode: encode)
                if reply.isAnswer { return reply }
                outcome = .success(reply)
            } catch let error as RedisError where error.isOfConnection {
                outcome = .failure(error)
            }
            return try await cluster.execute(call, on: nil, after: (way.node, outcome), encode: encode)
        }
        try group.start()
        let limit = timeout ?? configuration.commandTimeout
        let deadline = MonotonicInstant.coarse.advanced(by: limit)
        let reply: RESPValue
        var earlier = RedisError.Effect.notApplied
        do {
            reply = try await (connection ?? nextConnection())
                .call(deadline: deadline, expecting: expected, encode: encode)
        } catch let fault as RedisError where fault.code == .connectionLost {
            guard repetition == .repeatable || fault.effect == .notApplied else { throw fault }
            earlier = fault.effect
            do {
                reply = try await (connection ?? nextConnection())
                    .call(deadline: deadline, expecting: expected, encode: encode)
            } catch let error as RedisError {
                throw error.after(earlier)
            }
        }
        switch reply {
        case .error(let text): throw refused(text).after(earlier)
        case .oversized(let count): throw RedisError.oversized(count, endpoint: configuration.place)
        default: return reply
        }
    }

    /// An error reply as an error.
    ///
    /// A server that has become a replica keeps its connections: all of them are given up, so that the name is resolved
    /// anew.
    private func refused(_ text: String) -> RedisError {
        let error = RedisError.reply(text, endpoint: configuration.place)
        if error.isOfReplica, demotion.withLock({ $0.leaves(at: .now) }) {
            group.leave(
                RedisError(
                    code: .connectionLost,
                    message: "the server takes no more writes: the client looks for the primary again",
                    endpoint: configuration.place
                )
            )
        }
        return error
    }

    /// Whether the server has taken long for a reply since then, as the I/O thread saw it.
    func hasSeenSlowReply(since start: MonotonicInstant) -> Bool { group.hasSeenSlowReply(since: start) }

    /// Begins to connect, which a call does by itself; false where the system gives no thread.
    @discardableResult
    func begin() -> Bool { (try? start()) != nil }

    /// Begins to connect.
    ///
    /// - Throws: ``RedisError`` where the system gives no thread.
    func start() throws {
        if let cluster { cluster.begin() } else { try group.start() }
    }

    /// Whether it has begun.
    var hasBegun: Bool { group.hasStarted }

    /// Sends a command without waiting for its reply; see ``Connection/post(deadline:completion:encode:)``.
    ///
    /// In a cluster it goes to the node that is known to serve the slot, and follows no redirection. A connection to
    /// another node is not used.
    func post(
        deadline: MonotonicInstant,
        slot: @autoclosure () -> UInt16? = nil,
        on connection: Connection? = nil,
        expecting expected: ReplyKinds = .any,
        completion: @escaping @Sendable (Result<RESPValue, RedisError>) -> Void,
        encode: (inout CommandWriter) -> Void
    ) {
        if let cluster {
            return cluster.post(
                deadline: deadline,
                slot: slot(),
                on: connection,
                expecting: expected,
                completion,
                encode
            )
        }
        do { try group.start() } catch {
            return completion(.failure(error as? RedisError ?? .shutDown(configuration.place)))
        }
        (connection ?? nextConnection())
            .post(deadline: deadline, expecting: expected, completion: completion, encode: encode)
    }

    var connections: [Connection] { group.connections }

    /// How many connections could be used so far; 0 in a cluster, whose nodes have clients of their own.
    var openings: Int { group.openings }

    /// The way for calls from the I/O thread.
    var lookout: Lookout { cluster.map { .cluster(.init($0)) } ?? .connections(group.connections) }

    /// A function that gets what lies under a name, for calls from the I/O thread; `nil` when there is nothing, or no
    /// answer.
    func valueLook() -> @Sendable ([UInt8], @escaping @Sendable ([UInt8]?) -> Void) -> Void {
        let lookout = lookout
        let timeout = configuration.commandTimeout
        return { name, completion in
            let deadline = MonotonicInstant.coarse.advanced(by: timeout)
            lookout.post(deadline: deadline, slot: HashSlot.of(name), expecting: .value) { outcome in
                completion((try? outcome.get())?.bytes)
            } encode: { writer in
                writer.begin(2)
                writer.argument("GET" as StaticString)
                writer.argument(name)
            }
        }
    }

    /// The client of the node that serves a key; this one for a single server, and while that is not known.
    @inline(__always)
    func responsible(for key: @autoclosure () -> RedisKey) -> RedisClient {
        guard let cluster else { return self }
        return cluster.client(of: HashSlot.of(key())) ?? self
    }

    /// A connection for commands about a key whose order matters; `nil` when any will do.
    func orderedConnection(for key: RedisKey) -> Connection? {
        guard let cluster else { return nextConnection() }
        guard let client = cluster.client(of: HashSlot.of(key)), client.begin() else { return nil }
        return client.nextConnection()
    }

    /// A connection of this client: the given one, if it is one of them.
    ///
    /// O(connections).
    func connection(insteadOf other: Connection?) -> Connection {
        guard let other, group.connections.contains(where: { $0 === other }) else { return nextConnection() }
        return other
    }

    @inline(__always)
    func nextConnection() -> Connection {
        let connections = group.connections
        guard connections.count > 1 else { return connections[0] }
        let number = turn.wrappingAdd(1, ordering: .relaxed).newValue
        let next = connections[Int(UInt(bitPattern: number) % UInt(connections.count))]
        return next.isUsable ? next : usableConnection(insteadOf: next)
    }

    /// One that is usable, by turns; the given one where none is.
    private func usableConnection(insteadOf next: Connection) -> Connection {
        let usable = connections.filter(\.isUsable)
        guard !usable.isEmpty else { return next }
        let number = turn.load(ordering: .relaxed)
        return usable[Int(UInt(bitPattern: number) % UInt(usable.count))]
    }
}
