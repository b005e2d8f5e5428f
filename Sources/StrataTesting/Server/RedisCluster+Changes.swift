extension RedisCluster {
    /// The node that serves a slot, as one of the nodes sees it now.
    ///
    /// - Parameters:
    ///   - slot: The slot.
    ///   - members: The nodes to search; the nodes of the start by default.
    /// - Returns: The node; `nil` when none of them serves it.
    /// - Throws: ``HarnessError`` when no node answers.
    public func owner(of slot: Int, among members: [RedisServer]? = nil) async throws -> RedisServer? {
        let members = (members ?? nodes).filter(\.isRunning)
        var failure: any Error = HarnessError(.invalidConfiguration, "no node is running")
        for member in members {
            // One that is paused does not answer.
            do { return try await owner(of: slot, among: members, by: member) } catch { failure = error }
            try Task.checkCancellation()
        }
        throw failure
    }

    private func owner(
        of slot: Int,
        among members: [RedisServer],
        by member: RedisServer
    ) async throws -> RedisServer? {
        let ranges = try await member.command("CLUSTER", "SLOTS", within: .seconds(2)).elements ?? []
        for range in ranges {
            guard let parts = range.elements, parts.count > 2, let start = parts[0].integer, let end = parts[1].integer,
                (Int(start)...Int(end)).contains(slot), let port = parts[2].elements?[1].integer
            else { continue }
            return members.first { $0.port.map(Int64.init) == port }
        }
        return nil
    }

    /// Begins to move a slot: from now on its owner redirects to the other node for keys that it does not have.
    ///
    /// - Parameters:
    ///   - slot: The slot.
    ///   - source: Its owner.
    ///   - target: The node that gets it.
    /// - Throws: ``HarnessError``.
    public func beginMove(of slot: Int, from source: RedisServer, to target: RedisServer) async throws {
        let (from, to) = (
            try await source.command("CLUSTER", "MYID").text, try await target.command("CLUSTER", "MYID").text
        )
        try await target.command("CLUSTER", "SETSLOT", String(slot), "IMPORTING", from)
        try await source.command("CLUSTER", "SETSLOT", String(slot), "MIGRATING", to)
    }

    /// Moves the keys of a slot from its owner to the other node.
    ///
    /// - Throws: ``HarnessError``.
    public func moveKeys(of slot: Int, from source: RedisServer, to target: RedisServer) async throws {
        while true {
            let keys = try await source.command("CLUSTER", "GETKEYSINSLOT", String(slot), "100").elements ?? []
            guard !keys.isEmpty else { return }
            var command = ["MIGRATE", "127.0.0.1", String(target.replicationPort ?? 0), "", "0", "5000"]
                .map { Array($0.utf8) }
            if let password = target.credentials?.password { command += [Array("AUTH".utf8), Array(password.utf8)] }
            // A word of MIGRATE; the command of this name is never sent.
            command.append(Array("KEYS".utf8))
            for case .bulk(let name) in keys { command.append(name) }
            try await source.command(bytes: command)
        }
    }

    /// Ends the move of a slot: from now on it belongs to the other node.
    ///
    /// - Throws: ``HarnessError``.
    public func endMove(of slot: Int, from source: RedisServer, to target: RedisServer) async throws {
        let identity = try await target.command("CLUSTER", "MYID").text
        // The new owner first, as the specification says: otherwise a crash in between would leave the slot without an
        // owner.
        try await target.command("CLUSTER", "SETSLOT", String(slot), "NODE", identity)
        do {
            try await source.command("CLUSTER", "SETSLOT", String(slot), "NODE", identity)
        } catch let error as HarnessError where error.message.contains("only with masters") {
            // It has given away its last slot, has heard of that, and follows the new owner as a replica.
        }
    }

    /// Moves a slot with its keys to another node.
    ///
    /// - Throws: ``HarnessError``.
    public func move(_ slot: Int, from source: RedisServer, to target: RedisServer) async throws {
        try await beginMove(of: slot, from: source, to: target)
        try await moveKeys(of: slot, from: source, to: target)
        try await endMove(of: slot, from: source, to: target)
    }

    /// Starts a node and has it join: a primary without slots.
    ///
    /// The caller has to stop it.
    ///
    /// - Returns: The node, when all others know it.
    /// - Throws: ``HarnessError`` as ``start(_:)``.
    public func addNode() async throws -> RedisServer {
        let node = try await RedisServer.start(Self.nodeConfiguration(configuration))
        let members = nodes.filter(\.isRunning)
        guard let first = members.first else { throw HarnessError(.invalidConfiguration, "no node is running") }
        try await first.command("CLUSTER", "MEET", "127.0.0.1", String(node.replicationPort ?? 0))
        let identity = try await node.command("CLUSTER", "MYID").text
        let deadline = ContinuousClock.now + configuration.deadline
        for member in members {
            try await BlockingThread.run { cancellation in
                _ = try BlockingThread.poll(
                    for: "\(member.endpoint) to know the new node",
                    until: deadline,
                    every: .milliseconds(10),
                    cancellation
                ) {
                    let known = try member.ask("CLUSTER", "NODES", until: deadline).text.split(separator: "\n")
                    return known.contains { line in
                        let fields = line.split(separator: " ")
                        return fields.count > 7 && fields[0] == identity && fields[7] == "connected"
                    } ? true : nil
                }
            }
        }
        // It takes no keys before it knows that all slots are served.
        try await BlockingThread.run { cancellation in
            _ = try BlockingThread.poll(
                for: "the new node to know the cluster",
                until: deadline,
                every: .milliseconds(10),
                cancellation
            ) {
                try node.ask("CLUSTER", "INFO", until: deadline).text.contains("cluster_state:ok") ? true : nil
            }
        }
        return node
    }

    /// Waits until another node serves the slots of one that was stopped.
    ///
    /// - Parameters:
    ///   - slot: One of its slots.
    ///   - node: The one that was stopped.
    /// - Returns: The new owner.
    /// - Throws: ``HarnessError`` when that has not happened within the cluster's deadline; `CancellationError`.
    public func waitForFailover(of slot: Int, from node: RedisServer) async throws -> RedisServer {
        let deadline = ContinuousClock.now + configuration.deadline
        while ContinuousClock.now < deadline {
            try Task.checkCancellation()
            // What the node itself says of its slots counts for nothing, and a machine that is busy is asked again.
            let others = nodes.filter { $0 !== node }
            if let owner = try? await owner(of: slot, among: others), owner !== node { return owner }
            try await BlockingThread.run { _ in BlockingThread.pause(.milliseconds(20)) }
        }
        throw HarnessError(.deadlineExceeded, "no replica has taken the slots of \(node.endpoint)")
    }
}
