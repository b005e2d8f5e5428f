/// A proxy between a client and a server that breaks the wire on command.
///
/// ```swift
/// let proxy = try await FaultProxy.start(to: server.endpoint, seed: seed)
/// let client = try RedisClient(proxy.url)
/// try await client.ping()
/// proxy.stall(.toClient)  // replies stop; nothing is closed
/// proxy.resume()
/// proxy.set(.pieces(of: 1...7))  // small pieces of random size, both ways
/// proxy.edit(.swallow(5), .toClient)  // the next 5 bytes of replies vanish
/// proxy.edit(.close(after: 100), .toClient, of: .live)
/// proxy.resetConnections()
/// ```
///
/// It works on a thread of its own. You may call its methods from any thread or task; each has taken effect when it
/// returns, after some tens of microseconds. After ``stop()`` they do nothing.
///
/// Faults are reproducible: random choices (jitter, sizes of pieces, flipped bits) come from the seed, the number of
/// the connection and the direction. The network's own timing is not.
///
/// Memory is bounded by ``LinkConditions/bufferLimit`` for each direction of each connection: a proxy that may not
/// deliver reads no more. The proxy ends with ``stop()`` or with the last reference to it.
public final class FaultProxy: Sendable {
    private let loop: ProxyLoop

    private init(_ loop: ProxyLoop) {
        self.loop = loop
    }

    deinit {
        loop.state.withLock { $0.isStopped = true }
        loop.wake()
    }

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - upstream: The server: a socket path, or a port of a numeric address or `localhost`. It need not run yet.
    ///   - kind: Where clients connect: a free loopback port, the default, or a Unix-domain socket.
    ///   - seed: The seed of random faults. A test prints it when it fails.
    /// - Returns: The running proxy.
    /// - Throws: ``HarnessError`` when the address cannot be used or there is no free port or descriptor.
    public static func start(
        to upstream: TestEndpoint,
        at kind: TestEndpoint.Kind = .loopback,
        seed: UInt64 = 0
    ) async throws -> FaultProxy {
        try await BlockingThread.run { _ in
            let place = try ListeningPlace(kind)
            do {
                let loop = try ProxyLoop(place: place, upstream: try .numeric(upstream), seed: seed)
                try BlockingThread.start { loop.run() }
                return FaultProxy(loop)
            } catch {
                place.remove()
                throw error
            }
        }
    }

    /// Where clients connect.
    public var endpoint: TestEndpoint { loop.place.endpoint }

    /// The ``endpoint`` as a Redis URL.
    public var url: String { endpoint.url }

    /// The TCP port where clients connect; `nil` for a Unix-domain socket.
    public var port: UInt16? { endpoint.port }

    // MARK: Conditions

    /// Replaces the conditions.
    ///
    /// - Parameters:
    ///   - conditions: How the link behaves from now on.
    ///   - directions: In which directions.
    ///   - scope: For which connections.
    public func set(_ conditions: LinkConditions, _ directions: Directions = .both, of scope: Scope = .all) {
        update(directions, of: scope) { $0 = conditions }
    }

    /// Changes some of the conditions and leaves the others.
    ///
    /// - Parameters:
    ///   - directions: In which directions.
    ///   - scope: For which connections.
    ///   - change: Changes the conditions given to it. Called once for each direction of each connection; must not call
    ///     the proxy.
    public func update(
        _ directions: Directions = .both,
        of scope: Scope = .all,
        _ change: (inout LinkConditions) -> Void
    ) {
        loop.control { state in
            if scope.includesLater {
                if directions.contains(.toServer) { change(&state.conditions.toServer) }
                if directions.contains(.toClient) { change(&state.conditions.toClient) }
            }
            state.forEachConnection(in: scope) { $0.forEachDirection(directions) { $0.change(change) } }
        }
    }

    /// Freezes the link without closing anything.
    ///
    /// - Parameters:
    ///   - directions: In which directions.
    ///   - scope: For which connections.
    public func stall(_ directions: Directions = .both, of scope: Scope = .all) {
        update(directions, of: scope) { $0.isStalled = true }
    }

    /// Resumes a frozen link, with everything that it held.
    ///
    /// - Parameters:
    ///   - directions: In which directions.
    ///   - scope: For which connections.
    public func resume(_ directions: Directions = .both, of scope: Scope = .all) {
        update(directions, of: scope) { $0.isStalled = false }
    }

    /// Takes back all conditions, all edits that have not happened yet, and the ``Admission``; bytes that were held
    /// leave at once.
    ///
    /// - Throws: ``HarnessError`` when the proxy refused connections and cannot listen again.
    public func heal() throws {
        try admit(.accept)
        loop.control { state in
            state.conditions = (LinkConditions(), LinkConditions())
            state.edits = ([], [])
            state.forEachConnection(in: .live) { $0.forEachDirection(.both) { $0.heal(at: .now) } }
        }
    }

    // MARK: Edits

    /// Arms a fault at one place of the stream.
    ///
    /// - Parameters:
    ///   - edit: The fault. Its place is counted for each connection and direction by itself.
    ///   - directions: In which directions.
    ///   - scope: For which connections. With ``Scope/all`` or ``Scope/later`` it happens again in every new
    ///     connection.
    public func edit(_ edit: WireEdit, _ directions: Directions, of scope: Scope = .live) {
        loop.control { state in
            if scope.includesLater {
                if directions.contains(.toServer) { state.edits.toServer.append(edit) }
                if directions.contains(.toClient) { state.edits.toClient.append(edit) }
            }
            state.forEachConnection(in: scope) { $0.forEachDirection(directions) { $0.add(edit) } }
        }
    }

    // MARK: Connections

    /// Closes connections to both ends (FIN).
    ///
    /// Bytes that the proxy still holds are lost.
    ///
    /// - Parameter scope: Which connections.
    public func closeConnections(_ scope: Scope = .live) {
        loop.control { $0.forEachConnection(in: scope) { $0.close(reset: false) } }
    }

    /// Resets connections to both ends (RST).
    ///
    /// Bytes that the proxy still holds are lost. A Unix-domain socket has no reset; there it is a close.
    ///
    /// - Parameter scope: Which connections.
    public func resetConnections(_ scope: Scope = .live) {
        loop.control { $0.forEachConnection(in: scope) { $0.close(reset: true) } }
    }

    /// Ends one direction (FIN) and leaves the other open, even when the link is frozen.
    ///
    /// Bytes that the sender sends later are dropped.
    ///
    /// - Parameters:
    ///   - directions: Which direction.
    ///   - scope: Which connections.
    public func halfClose(_ directions: Directions, of scope: Scope = .live) {
        loop.control { $0.forEachConnection(in: scope) { $0.forEachDirection(directions) { $0.cut() } } }
    }

    /// Decides what happens to clients that connect from now on.
    ///
    /// - Parameter admission: What happens to them.
    /// - Throws: ``HarnessError`` when the proxy refused connections and cannot listen again.
    public func admit(_ admission: Admission) throws {
        try loop.control { [place = loop.place] state in
            guard !state.isStopped else { return }
            if admission == .refuse {
                state.listener = nil
            } else if state.listener == nil {
                state.listener = try place.listen()
            }
            state.admission = admission
        }
    }

    /// Sends later connections to another server, as a change of a name or a failover does.
    ///
    /// - Parameter upstream: The server; as for ``start(to:at:seed:)``.
    /// - Throws: ``HarnessError`` when the address cannot be used.
    public func retarget(to upstream: TestEndpoint) throws {
        let address = try SocketAddress.numeric(upstream)
        loop.control { $0.upstream = address }
    }

    // MARK: Watching

    /// What has passed so far, and the open connections, the oldest first.
    public var snapshot: Snapshot {
        loop.state.withLock { $0.snapshot }
    }

    /// Waits until something has happened.
    ///
    /// ```swift
    /// try await proxy.wait { $0.counts.toServer.received > 0 }
    /// ```
    ///
    /// - Parameter condition: Whether it has happened. Called on the proxy's thread after each of its turns; must be
    ///   quick and must not call the proxy.
    /// - Throws: `CancellationError` when the task is cancelled; ``HarnessError`` when the proxy is stopped.
    public func wait(until condition: @escaping @Sendable (Snapshot) -> Bool) async throws {
        try await loop.waiters.wait(until: condition, entered: loop.wake)
    }

    /// Closes all connections (FIN) and ends the proxy.
    ///
    /// May be called again.
    public func stop() async {
        // The wait is short, but it is a wait for another thread.
        _ = try? await BlockingThread.run { [loop] _ in
            loop.control { $0.isStopped = true }
            loop.place.remove()
        }
    }
}

extension ProxyLoop.State {
    fileprivate mutating func forEachConnection(in scope: FaultProxy.Scope, _ body: (inout ProxyConnection) -> Void) {
        for index in connections.indices {
            switch scope {
            case .all, .live: body(&connections[index])
            case .later: return
            case .connection(let id): if connections[index].id == id { body(&connections[index]) }
            }
        }
    }
}
