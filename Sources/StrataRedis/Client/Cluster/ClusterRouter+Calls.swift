internal import Strata

/// A call of a cluster, as far as it matters for where it goes.
struct ClusterCall: Sendable {
    let repetition: RedisClient.Repetition
    let deadline: MonotonicInstant
    /// `nil` for any primary.
    let slot: UInt16?
    let expected: ReplyKinds
    /// Whether it can be made for each of its keys by itself: then it need not wait until all of them have arrived
    /// somewhere.
    var isDivisible = false
}

extension ClusterRouter {
    /// So often a call is sent from one node to another without a pause.
    static let mostHops = 5
    /// So often it begins anew after that, each time after a pause: while a slot is handed over, its old owner and its
    /// new one may point to each other for a moment.
    static let mostDetours = 4
    /// So often it is sent again after its connection was lost.
    static let mostLosses = 2
    private static let pauses: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(50)

    /// Where a call goes next.
    private enum Target {
        /// To the node that serves the slot.
        case owner
        /// To a node that a redirection has named.
        case node(ClusterNode, asking: Bool)
    }

    /// What has become of a call so far.
    private struct Course {
        var target = Target.owner
        var hops = 0
        var losses = 0
        var detours = 0
        var pause = ClusterRouter.pauses.lowerBound
        /// Whether a node may have run it.
        var isAmbiguous = false
    }

    /// A node that serves a slot, and what leads to it.
    struct Way {
        let node: ClusterNode
        /// A node that leaves the cluster does not take its calls with it: to be kept alive for as long as a call
        /// takes.
        let client: RedisClient
        let connection: Connection
    }

    /// The outcome of an attempt: a reply, or the loss of a connection.
    typealias Outcome = Result<RESPValue, RedisError>

    /// The way that a call takes where nothing has to be waited for, which is nearly always.
    ///
    /// - Parameters:
    ///   - slot: The slot of the call.
    ///   - connection: The connection to take if it leads there.
    /// - Returns: The way; `nil` for no slot, and while its node is not known or has not begun.
    @inline(__always)
    func way(to slot: UInt16?, on connection: Connection?) -> Way? {
        guard let slot, let node = node(of: slot), let client = node.begun else { return nil }
        return Way(node: node, client: client, connection: client.connection(insteadOf: connection))
    }

    /// Sends a command to the node that serves its slot, and goes where that node points to, until the deadline.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - connection: The connection of the first attempt, for calls whose order matters; not used when the slot's
    ///     node is another by now.
    ///   - first: The outcome of an attempt that was already made, and its node.
    ///   - encode: Writes the command.
    /// - Returns: The reply.
    /// - Throws: ``RedisError``; `CancellationError`.
    func execute(
        _ call: ClusterCall,
        on connection: Connection?,
        after first: (node: ClusterNode, outcome: Outcome)? = nil,
        encode: (inout CommandWriter) -> Void
    ) async throws -> RESPValue {
        var course = Course()
        var connection = connection
        do {
            var attempt = first
            while true {
                let (node, outcome) =
                    if let made = attempt.take() { made } else {
                        try await send(call, to: course.target, on: connection.take(), encode: encode)
                    }
                switch outcome {
                case .failure(let error): try await lost(error, node, call, &course)
                case .success(.error(let text)):
                    guard let redirection = Redirection(text, from: node.endpoint) else {
                        throw RedisError.reply(text, endpoint: node.endpoint.description)
                    }
                    try await follow(redirection, text, node, call, &course)
                case .success(.oversized(let count)):
                    throw RedisError.oversized(count, endpoint: node.endpoint.description)
                case .success(let reply): return reply
                }
            }
        } catch let error as RedisError {
            throw error.after(course.isAmbiguous ? .ambiguous : .notApplied)
        }
    }

    private func send(
        _ call: ClusterCall,
        to target: Target,
        on connection: Connection?,
        encode: (inout CommandWriter) -> Void
    ) async throws -> (ClusterNode, Outcome) {
        let (node, asking) = try await node(for: target, call)
        let client = try node.begin()
        // See ``Way/client``.
        defer { withExtendedLifetime(client) {} }
        do {
            return (
                node,
                .success(
                    try await client.connection(insteadOf: connection)
                        .call(deadline: call.deadline, expecting: call.expected, asking: asking, encode: encode)
                )
            )
        } catch let error as RedisError where error.isOfConnection {
            return (node, .failure(error))
        }
    }

    private func node(for target: Target, _ call: ClusterCall) async throws -> (ClusterNode, asking: Bool) {
        if case .node(let node, let asking) = target { return (node, asking) }
        if let node = node(of: call.slot) { return (node, false) }
        _ = try await view(by: call.deadline)
        var pause = Self.pauses.lowerBound
        while true {
            if let node = node(of: call.slot) { return (node, false) }
            guard !isStopped else { throw RedisError.shutDown(configuration.place) }
            refresh()
            guard .now.advanced(by: pause) < call.deadline else {
                throw RedisError.unserved(configuration.place)
            }
            try await Task.pause(for: pause)
            pause = min(pause * 2, Self.pauses.upperBound)
        }
    }

    /// A connection was lost, or there was none: the map may be old.
    ///
    /// The call is made again where it may be, and at once only if another node serves the slot by now: while the
    /// cluster has not noticed that a node is gone, nothing is gained by asking it again.
    private func lost(_ error: RedisError, _ node: ClusterNode, _ call: ClusterCall, _ course: inout Course)
        async throws
    {
        course.isAmbiguous = course.isAmbiguous || error.effect == .ambiguous
        course.losses += 1
        guard call.repetition == .repeatable || !course.isAmbiguous, course.losses <= Self.mostLosses else {
            refresh()
            throw error
        }
        let isElsewhere = if case .node = course.target { true } else { false }
        course.target = .owner
        let ended = rounds.ended
        refresh()
        if error.code == .connectionLost || isElsewhere { return }
        let isUnderWay = state.withLock { $0.round != nil }
        if isUnderWay { try await rounds.wait(past: ended, until: call.deadline) }
        guard self.node(of: call.slot) !== node else { throw error }
    }

    private func follow(
        _ redirection: Redirection,
        _ text: String,
        _ node: ClusterNode,
        _ call: ClusterCall,
        _ course: inout Course
    ) async throws {
        switch redirection {
        case .moved(let slot, let endpoint):
            let target = try self.node(at: endpoint)
            moved(slot, to: target)
            try await hop(to: target, asking: false, text, call, &course)
        case .ask(let slot, let endpoint):
            let target = try self.node(at: endpoint)
            exposed(slot, to: target)
            try await hop(to: target, asking: true, text, call, &course)
        case .tryAgain where call.isDivisible:
            throw RedisError.reply(text, endpoint: node.endpoint.description)
        case .unnamed(let slot, let port, let asking):
            // A node that has not told its host to the one that sends there: the map may know it by its port.
            let known = view?.nodes.filter { $0 !== node && $0.endpoint.isAt(port: port) } ?? []
            // The map is to say who has the slot by now: this is a guess.
            refresh()
            guard let target = known.first, known.count == 1 else {
                let error = RedisError.reply(text, endpoint: node.endpoint.description)
                // No map names the node that a slot is on its way to.
                if asking { throw error }
                return try await pause(call, &course, orElse: error)
            }
            if asking { exposed(slot, to: target) }
            try await hop(to: target, asking: asking, text, call, &course)
        case .tryAgain, .down, .demoted:
            if redirection != .tryAgain { refresh() }
            // What a node refuses for the cluster's state passes by itself, or does not.
            try await pause(
                call,
                &course,
                orElse: RedisError.reply(text, endpoint: node.endpoint.description)
            )
        }
    }

    /// Waits a little, and has the call begin anew.
    private func pause(_ call: ClusterCall, _ course: inout Course, orElse error: RedisError) async throws {
        guard .now.advanced(by: course.pause) < call.deadline else { throw error }
        try await Task.pause(for: course.pause * Double.random(in: 0.5...1))
        course.pause = min(course.pause * 2, Self.pauses.upperBound)
        course.target = .owner
        // While a slot is on its way each attempt goes there by ASK. The pauses and the deadline bound them.
        course.hops = 0
    }

    /// Keys of a slot are on their way to a node.
    func exposed(_ slot: UInt16, to node: ClusterNode) {
        guard let observer else { return }
        let isKnown = node.existing?.hasBegun ?? false
        observer.exposed(slot, to: node)
        // Its word is needed before anything is trusted that lies there.
        if !isKnown { confirm([node]) }
    }

    /// Sends the call to another node at once, or lets it begin anew after a pause when it was sent around for too
    /// long.
    private func hop(
        to node: ClusterNode,
        asking: Bool,
        _ text: String,
        _ call: ClusterCall,
        _ course: inout Course
    ) async throws {
        course.hops += 1
        course.target = .node(node, asking: asking)
        guard course.hops > Self.mostHops else { return }
        refresh()
        let error = RedisError(
            code: .tooManyRedirects,
            message: "the nodes of the cluster do not agree on who serves a slot",
            endpoint: node.endpoint.description,
            effect: .notApplied,
            serverMessage: text
        )
        course.detours += 1
        guard course.detours <= Self.mostDetours else { throw error }
        try await pause(call, &course, orElse: error)
    }

    // MARK: Without anybody waiting

    /// Sends a command to the node that is known to serve a slot.
    ///
    /// Redirections are not followed, but heeded: the next call finds the way.
    ///
    /// - Parameters:
    ///   - deadline: When there is no more time.
    ///   - slot: The slot; `nil` for any primary.
    ///   - connection: The connection to use if it leads to that node.
    ///   - expected: What the reply may be.
    ///   - completion: Gets the outcome.
    ///   - encode: Writes the command.
    func post(
        deadline: MonotonicInstant,
        slot: UInt16?,
        on connection: Connection?,
        expecting expected: ReplyKinds,
        _ completion: @escaping @Sendable (Result<RESPValue, RedisError>) -> Void,
        _ encode: (inout CommandWriter) -> Void
    ) {
        guard let node = node(of: slot), let client = try? node.client() else {
            begin()
            refresh()
            return completion(.failure(.unserved(configuration.place)))
        }
        guard client.begin() else { return completion(.failure(.shutDown(node.endpoint.description))) }
        let ordered = client.connection(insteadOf: connection)
        ordered.post(deadline: deadline, expecting: expected) { [weak self] outcome in
            if let self { heed(outcome, node.endpoint) }
            completion(outcome)
        } encode: {
            encode(&$0)
        }
    }

    private func heed(_ outcome: Result<RESPValue, RedisError>, _ endpoint: RedisEndpoint) {
        switch outcome {
        case .success(.error(let text)):
            switch Redirection(text, from: endpoint) {
            case .moved(let slot, let target): if let node = try? node(at: target) { moved(slot, to: node) }
            case .ask(let slot, let target): if let node = try? node(at: target) { exposed(slot, to: node) }
            case .down, .demoted, .unnamed: refresh()
            case .tryAgain, nil: break
            }
        case .failure(let error) where error.isOfConnection: refresh()
        default: break
        }
    }
}

extension RedisError {
    /// There was no connection, or it was lost.
    var isOfConnection: Bool { code == .connectionLost || code == .connectionFailed }
}
