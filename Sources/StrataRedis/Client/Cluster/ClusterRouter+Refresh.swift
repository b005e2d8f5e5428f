internal import Logging
internal import Strata

/// A round of asking nodes for the map of slots: some at a time, until one has answered.
struct RefreshRound {
    /// So many are asked at a time; more when they are silent.
    static let width = 2

    let number: UInt64
    private var candidates: ArraySlice<RedisEndpoint>
    private var asked = 0
    private var width = Self.width

    init(number: UInt64, candidates: [RedisEndpoint]) {
        self.number = number
        self.candidates = candidates[...]
    }

    /// Whom to ask now.
    mutating func next() -> [RedisEndpoint] {
        let next = candidates.prefix(width - asked)
        candidates = candidates.dropFirst(next.count)
        asked += next.count
        return Array(next)
    }

    /// Those that were asked have been silent for long: others are to be asked beside them.
    mutating func widen() { width += Self.width }

    /// One has failed.
    ///
    /// - Returns: Whether no node is left to ask, or to wait for.
    mutating func failed() -> Bool {
        asked -= 1
        return asked == 0 && candidates.isEmpty
    }
}

extension ClusterRouter: Watched {
    /// How soon after the beginning of a round the next one may begin, at the longest.
    static let longestPause: Duration = .seconds(1)
    /// The same while no node has told of the cluster.
    static let firstPause: Duration = .milliseconds(50)
    /// For how long a map with a lower epoch than the known one's is taken for an old one.
    static let longestLag: Duration = .seconds(10)

    /// Has the map asked for: now, or when the pause since the last round is over; once for all who want it.
    ///
    /// A round that is still under way then asks further nodes: those it has asked may be silent for as long as a
    /// connect may take, and the map is relied on for less.
    func refresh() {
        let now = MonotonicInstant.now
        let (round, due) = state.withLock { state -> (UInt64?, MonotonicInstant?) in
            guard !state.isStopped, state.hasBegun else { return (nil, nil) }
            // The map is relied on for twice the interval, so that is how often it may be asked for.
            let next = min(Self.longestPause, configuration.linkPingInterval)
            let pause = state.view == nil && state.round == nil ? min(Self.firstPause, next) : next
            let due = state.lastRound.advanced(by: pause)
            guard state.lastRound == .distantPast || now >= due else { return (nil, due) }
            state.lastRound = now
            if let number = state.round?.number {
                state.round?.widen()
                return (number, nil)
            }
            let known = state.view?.nodes.filter { $0.existing != nil }.map(\.endpoint).shuffled() ?? []
            let others = (state.view?.map.nodes ?? []).shuffled()
            var seen: Set<RedisEndpoint> = []
            // A map of a thousand nodes that all are silent is given up after some.
            let all = Array(known.prefix(8)) + seeds + Array(others.prefix(8))
            let candidates = all.filter { seen.insert($0).inserted }
            let number = UInt64.random(in: 0 ... .max)
            state.round = RefreshRound(number: number, candidates: candidates)
            return (number, nil)
        }
        if let due { watch.schedule(self, by: due) }
        if let round { askNext(round) }
    }

    /// Sees to the cluster: the nodes are to confirm that they are part of it, and the map is looked at.
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        guard !state.withLock({ $0.isStopped }) else { return .distantFuture }
        confirm(nodes)
        refresh()
        return now.advanced(by: configuration.linkPingInterval)
    }

    /// Asks nodes that are in use whether they are part of a working cluster.
    func confirm(_ nodes: [ClusterNode]) {
        for node in nodes {
            guard let client = node.existing, client.hasBegun else { continue }
            let askedAt = MonotonicInstant.now
            askInformation(client, on: client.connections.firstUsable) { [weak self] outcome in
                guard let information = ClusterInformation(outcome), information.isWhole else { return }
                self?.observer?.confirmed(node.endpoint, askedAt: askedAt)
            }
        }
    }

    private func askNext(_ number: UInt64) {
        let next = state.withLock { $0.round?.number == number ? $0.round?.next() : nil } ?? []
        for endpoint in next {
            let client: RedisClient
            do { client = try node(at: endpoint).client() } catch {
                failed(error as? RedisError ?? .unserved(endpoint.description), number)
                continue
            }
            ask(client, number)
        }
    }

    /// Asks a node for its account of the cluster and for the map.
    ///
    /// - Parameters:
    ///   - client: The node.
    ///   - number: The round's.
    ///   - gaps: The map that the node has told in the newer form, where slots had no owner in that.
    private func ask(_ client: RedisClient, _ number: UInt64, gaps: SlotMap? = nil) {
        let askedAt = MonotonicInstant.now
        let noted = NotedInformation()
        // Over one connection, so that the account is there when the map comes.
        let connection = client.connections.firstUsable
        askInformation(client, on: connection) { outcome in
            noted.information.withLock { $0 = ClusterInformation(outcome) }
        }
        let asksForSlots = gaps != nil || state.withLock { $0.asksForSlots }
        client.post(deadline: askedAt.advanced(by: configuration.connectTimeout), on: connection, expecting: .list) {
            [weak self] outcome in
            self?
                .answered(
                    RefreshAnswer(
                        outcome: outcome,
                        information: noted.information.withLock { $0 },
                        client: client,
                        askedAt: askedAt,
                        isOfSlots: asksForSlots,
                        gaps: gaps
                    ),
                    number
                )
        } encode: { writer in
            writer.begin(2)
            writer.argument("CLUSTER" as StaticString)
            writer.argument(asksForSlots ? "SLOTS" as StaticString : "SHARDS")
        }
    }

    private func askInformation(
        _ client: RedisClient,
        on connection: Connection,
        _ completion: @escaping @Sendable (Result<RESPValue, RedisError>) -> Void
    ) {
        let deadline = MonotonicInstant.now.advanced(by: configuration.connectTimeout)
        client.post(deadline: deadline, on: connection, expecting: [.bytes, .large], completion: completion) { writer in
            writer.begin(2)
            writer.argument("CLUSTER" as StaticString)
            writer.argument("INFO" as StaticString)
        }
    }

    private func answered(_ answer: RefreshAnswer, _ number: UInt64) {
        let map: SlotMap
        do throws(RedisError) { map = try answer.map() } catch {
            if error.isOfMissingCommand, answer.gaps == nil {
                // One node's refusal must not last: where neither is allowed now, the first is tried again the next
                // time.
                state.withLock { $0.asksForSlots = !answer.isOfSlots }
                if !answer.isOfSlots { return ask(answer.client, number) }
            }
            guard let gaps = answer.gaps else { return failed(error, number) }
            map = gaps
        }
        // Some releases of Redis and Valkey 7.2 leave out the slots of a shard whose primary has died
        // (redis/redis#13414).
        if !answer.isOfSlots, !map.isWhole { return ask(answer.client, number, gaps: map) }
        let epoch = answer.information?.epoch ?? 0
        let known = view
        // A node that has been cut off tells what was. It is believed when it is all there is.
        if let known, epoch < known.epoch, MonotonicInstant.now < known.askedAt.advanced(by: Self.longestLag) {
            return failed(RedisError(code: .server, message: "the node's map is out of date"), number)
        }
        let isCurrent = state.withLock { state in
            guard state.round?.number == number else { return false }
            state.round = nil
            return true
        }
        guard isCurrent, let view = apply(map, epoch: epoch, askedAt: answer.askedAt) else { return }
        if known?.map != view.map {
            logger?
                .info(
                    "the cluster's slots are served by \(map.nodes.count) primaries",
                    metadata: ["redis.endpoint": "\(answer.client.configuration.endpoint)"]
                )
        }
        observer?.seen(view)
        replicas?.seen(view, answer.replicas())
        if known?.map != view.map { confirm(view.nodes) }
        if answer.information?.isWhole == true {
            observer?.confirmed(answer.client.configuration.endpoint, askedAt: answer.askedAt)
        }
        rounds.end()
    }

    private func failed(_ error: RedisError, _ number: UInt64) {
        let (hasEnded, news) = state.withLock { state -> (Bool, RedisError?) in
            guard state.round?.number == number, let isOver = state.round?.failed() else { return (false, nil) }
            // What a server has said tells more than that another one is silent, and what is configured wrongly more
            // than either.
            if state.lastError.map({ error.isOfConfiguration || !$0.isOfConfiguration }) ?? true {
                state.lastError = error
            }
            guard isOver else { return (false, nil) }
            state.round = nil
            let last = state.lastError ?? error
            let isNews = state.toldOf.insert(last.kind).inserted
            return (true, isNews ? last : nil)
        }
        guard hasEnded else { return askNext(number) }
        if let news {
            logger?
                .log(
                    level: news.isOfConfiguration ? .warning : .info,
                    "no node describes the cluster",
                    metadata: ["redis.endpoint": "\(configuration.place)", "error": "\(news.code): \(news.message)"]
                )
        }
        rounds.end()
    }
}

/// Where a node's account of the cluster waits for the map, which is asked for behind it.
private final class NotedInformation: Sendable {
    let information = Locked<ClusterInformation?>(nil)
}

/// A node's answer to the question for the map.
private struct RefreshAnswer: Sendable {
    let outcome: Result<RESPValue, RedisError>
    let information: ClusterInformation?
    let client: RedisClient
    let askedAt: MonotonicInstant
    let isOfSlots: Bool
    /// The map with gaps that the node has told before.
    let gaps: SlotMap?

    func map() throws(RedisError) -> SlotMap {
        let endpoint = client.configuration.endpoint
        let reply = try outcome.get()
        if case .error(let text) = reply { throw Self.refusal(text, endpoint) }
        guard !isOfSlots else { return try SlotMap(slots: reply, from: endpoint) }
        return try SlotMap(shards: reply, from: endpoint, usesTLS: client.configuration.tls != nil)
    }

    /// The replicas in the same answer.
    func replicas() -> ReplicaMap {
        guard let reply = try? outcome.get() else { return ReplicaMap() }
        let endpoint = client.configuration.endpoint
        guard !isOfSlots else { return ReplicaMap(slots: reply, from: endpoint) }
        return ReplicaMap(shards: reply, from: endpoint, usesTLS: client.configuration.tls != nil)
    }

    private static func refusal(_ text: String, _ endpoint: RedisEndpoint) -> RedisError {
        var error = RedisError.reply(text, endpoint: endpoint.description)
        if text.contains("cluster support disabled") {
            error.code = .wrongServer
            error.message = "the server is not part of a cluster, but the configuration says that it is"
            error.effect = .notApplied
        }
        return error
    }
}

extension RedisError {
    /// The server does not know a command, or does not let this user run it.
    fileprivate var isOfMissingCommand: Bool {
        guard let serverMessage else { return false }
        return serverMessage.hasPrefix("NOPERM")
            || serverMessage.hasPrefix("ERR") && !serverMessage.contains("cluster support disabled")
    }
}

/// What a node says of the cluster.
struct ClusterInformation: Sendable {
    /// All slots are served, as far as the node knows.
    let isWhole: Bool
    /// The highest epoch that the node has heard of.
    let epoch: Int64

    init?(_ outcome: Result<RESPValue, RedisError>) {
        guard case .success(.bytes(let bytes)) = outcome else { return nil }
        let fields = ServerFields.read(String(decoding: bytes, as: UTF8.self))
        guard let state = fields["cluster_state"] else { return nil }
        isWhole = state == "ok"
        epoch = fields["cluster_current_epoch"].flatMap { Int64($0) } ?? 0
    }
}
