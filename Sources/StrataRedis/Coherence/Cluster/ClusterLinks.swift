internal import Strata

/// The invalidation links of a cluster: each keyspace that wants to be told of changes listens to all primaries.
///
/// Of changes a node's link tells the keyspace at once, on that node's I/O thread. What concerns trust goes through a
/// queue, because the links of several nodes decide on it together.
final class ClusterLinks: ClusterObserver {
    private struct Attachment: Sendable {
        let node: ClusterNode
        var number: UInt64?
    }

    private struct Registration: Sendable {
        let keyspace: Keyspace
        let listener: any PartListener
        var trust: PartTrust
        var attachments: [RedisEndpoint: Attachment] = [:]
    }

    /// Nodes to which keys are on their way, and until when that is believed.
    private typealias Exposures = [[RedisEndpoint: (node: ClusterNode, until: MonotonicInstant)]]

    private struct State: Sendable {
        var view: ClusterView?
        var confirmedAt: [RedisEndpoint: MonotonicInstant] = [:]
        /// By part; the old ones go with each new one.
        var exposed: Exposures
        var registrations: [UInt64: Registration] = [:]
        var lastNumber: UInt64 = 0
        var queue: [@Sendable () -> Void] = []
        var isDelivering = false
        /// Whether the client has ended.
        var hasEnded = false
        /// Whether nodes are to tell only of what was read; `nil` as configured.
        var tracksReads: Bool?

        /// Forgets nodes to which keys were seen to go a while ago.
        ///
        /// - Returns: The parts that they counted for. One that serves slots of a part by now counts for it as before.
        mutating func endExposures(at now: MonotonicInstant) -> Set<Int> {
            var parts: Set<Int> = []
            for part in exposed.indices where !exposed[part].isEmpty {
                let ended = exposed[part].filter { $0.value.until < now }.keys
                guard !ended.isEmpty else { continue }
                let owners = view?.map.owners(of: KeyspacePart.all[part].slots) ?? []
                if !owners.isSuperset(of: ended) { parts.insert(part) }
                for endpoint in ended { exposed[part][endpoint] = nil }
            }
            return parts
        }
    }

    private let state = Locked(
        State(exposed: Array(repeating: [:], count: KeyspacePart.count))
    )
    private let lease: Int64
    private let exposure: Duration
    private let changed: @Sendable () -> Void
    private let trackingRefused = Locked<(@Sendable () -> Void)?>(nil)

    /// - Parameters:
    ///   - configuration: How long the nodes' messages are relied on.
    ///   - exposure: For how long a node to which keys of a part were seen to go counts as one of the part's.
    ///   - changed: Called when the cluster has changed, or a link stands.
    init(
        _ configuration: RedisConfiguration,
        exposure: Duration = .seconds(10),
        changed: @escaping @Sendable () -> Void
    ) {
        self.exposure = exposure
        lease = (configuration.linkPingInterval * 2 + configuration.linkPingTimeout).saturatedNanoseconds
        self.changed = changed
    }

    /// How many nodes count for parts whose slots they do not serve.
    var exposures: Int { state.withLock { $0.exposed.reduce(0) { $0 + $1.count } } }

    /// Asks to be told of changes in a keyspace.
    ///
    /// Returns a number by which to take that back.
    func add(_ listener: any PartListener, for keyspace: Keyspace) -> UInt64 {
        let number = state.withLock { state in
            state.lastNumber += 1
            let registration = Registration(keyspace: keyspace, listener: listener, trust: PartTrust(lease: lease))
            state.registrations[state.lastNumber] = registration
            update(&state, only: state.lastNumber, changed: [])
            if state.hasEnded { state.queue.append { listener.ended() } }
            return state.lastNumber
        }
        deliver()
        return number
    }

    func remove(_ number: UInt64) {
        state.withLock { state in
            guard let registration = state.registrations.removeValue(forKey: number) else { return }
            for attachment in registration.attachments.values { detach(attachment, &state) }
        }
        deliver()
    }

    /// The client has ended; the link of a node may end long before, with the node.
    func shutDown() {
        state.withLock { state in
            state.hasEnded = true
            for registration in state.registrations.values {
                let listener = registration.listener
                state.queue.append { listener.ended() }
            }
        }
        deliver()
    }

    /// Has all nodes tell of every change, or only of what was read.
    func track(reads: Bool) {
        state.withLock { state in
            state.tracksReads = reads
            let nodes = state.view?.nodes ?? []
            state.queue.append { for node in nodes { node.existing?.link.track(reads: reads) } }
        }
        deliver()
    }

    /// Sets a function to call when a node does not remember what connections read.
    func onTrackingRefused(_ action: @escaping @Sendable () -> Void) { trackingRefused.withLock { $0 = action } }

    /// A node tells of every change, so all do.
    private func refuseTracking() {
        track(reads: false)
        trackingRefused.withLock { $0 }?()
    }

    /// Why changes are not told at the moment, in words; `nil` while they are, and while no level listens.
    var refusal: String? {
        let (missing, view) = state.withLock { state in
            (state.registrations.values.lazy.compactMap { $0.trust.missing }.first, state.view)
        }
        guard let missing else { return nil }
        guard let view else { return "no node has described the cluster yet" }
        for endpoint in missing {
            if let refusal = view.byEndpoint[endpoint]?.existing?.link.refusal { return "\(endpoint): \(refusal)" }
        }
        return missing.isEmpty ? "not all slots of the cluster are served" : "not all nodes report changes yet"
    }

    // MARK: ClusterObserver

    func seen(_ view: ClusterView) {
        let (isChange, before) = state.withLock { state -> (Bool, (ClusterView?, Exposures)) in
            let before = (state.view, state.exposed)
            guard state.view.map({ $0.number < view.number }) ?? true else { return (false, before) }
            var parts = view.changedParts(since: state.view)
            state.view = view
            // What was read at a node while keys went there is told by that node alone.
            parts.formUnion(state.endExposures(at: .now))
            let exposed = Set(state.exposed.flatMap(\.keys))
            state.confirmedAt = state.confirmedAt.filter {
                view.byEndpoint[$0.key] != nil || exposed.contains($0.key)
            }
            for number in state.registrations.keys { update(&state, only: number, changed: parts) }
            return (!parts.isEmpty, before)
        }
        // With its last reference a node's client ends, which has effects of its own: not under the lock.
        withExtendedLifetime(before) {}
        deliver()
        if isChange { changed() }
    }

    func confirmed(_ endpoint: RedisEndpoint, askedAt: MonotonicInstant) {
        let before = state.withLock { state in
            let before = state.exposed
            state.confirmedAt[endpoint] = askedAt
            // The cluster may stay out of reach for long.
            let ended = state.endExposures(at: .now)
            for number in state.registrations.keys {
                change(number, &state) { $0.confirmed(endpoint, at: askedAt) }
                if !ended.isEmpty { update(&state, only: number, changed: ended) }
            }
            return before
        }
        withExtendedLifetime(before) {}
        deliver()
    }

    func exposed(_ slot: UInt16, to node: ClusterNode) {
        let part = Int(slot) / (HashSlot.count / KeyspacePart.count)
        let before = state.withLock { state in
            let before = state.exposed
            let now = MonotonicInstant.now
            let isNews =
                state.exposed[part].updateValue((node, now.advanced(by: exposure)), forKey: node.endpoint) == nil
            let isOwner = state.view?.map.owners(of: KeyspacePart.all[part].slots)?.contains(node.endpoint) ?? false
            var parts = state.endExposures(at: now)
            if isNews, !isOwner { parts.insert(part) }
            guard !parts.isEmpty else { return before }
            for number in state.registrations.keys { update(&state, only: number, changed: parts) }
            return before
        }
        withExtendedLifetime(before) {}
        deliver()
    }

    // MARK: Nodes

    /// The link to a node has told a keyspace something of trust.
    func note(_ number: UInt64, _ body: (inout PartTrust) -> [PartTrust.Effect]) {
        state.withLock { change(number, &$0, body) }
        deliver()
    }

    /// The link to a node stands.
    func established() { changed() }

    /// The database of a node was flushed.
    func flushed(_ endpoint: RedisEndpoint, for number: UInt64) {
        let (listener, parts) = state.withLock { state in
            let map = state.view?.map
            return (
                state.registrations[number]?.listener,
                KeyspacePart.all.filter { part in
                    map?.owners(of: part.slots)?.contains(endpoint) ?? true
                        || state.exposed[part.number][endpoint] != nil
                }
            )
        }
        for part in parts { listener?.everythingChanged(part) }
    }

    // MARK: Inside

    /// Brings a keyspace up with the cluster as it was last seen.
    private func update(_ state: inout State, only number: UInt64, changed: Set<Int>) {
        guard let view = state.view, let registration = state.registrations[number] else { return }
        var wanted = view.byEndpoint
        var sets: [Set<RedisEndpoint>?] = []
        for part in KeyspacePart.all {
            let exposed = state.exposed[part.number]
            sets.append(view.map.owners(of: part.slots).map { $0.union(exposed.keys) })
            for (endpoint, place) in exposed where wanted[endpoint] == nil { wanted[endpoint] = place.node }
        }
        for (endpoint, attachment) in registration.attachments where wanted[endpoint] !== attachment.node {
            state.registrations[number]?.attachments[endpoint] = nil
            detach(attachment, &state)
            change(number, &state) { $0.lost(endpoint) }
        }
        for (endpoint, node) in wanted where state.registrations[number]?.attachments[endpoint] == nil {
            state.registrations[number]?.attachments[endpoint] = Attachment(node: node)
            let listener = NodeListener(self, registration.listener, number, endpoint)
            attach(listener, to: node, registration.keyspace, &state)
        }
        for (endpoint, time) in state.confirmedAt where wanted[endpoint] != nil {
            change(number, &state) { $0.confirmed(endpoint, at: time) }
        }
        change(number, &state) { $0.seen(sets, changed: changed, at: view.askedAt) }
    }

    private func attach(_ listener: NodeListener, to node: ClusterNode, _ keyspace: Keyspace, _ state: inout State) {
        state.queue.append { [weak self] in
            guard let self else { return }
            guard let client = try? node.client() else {
                // Without descriptors, say: the next view tries again.
                self.state.withLock { state in
                    let attachments = state.registrations[listener.number]?.attachments
                    guard attachments?[listener.endpoint]?.node === node else { return }
                    state.registrations[listener.number]?.attachments[listener.endpoint] = nil
                }
                return
            }
            if let reads = self.state.withLock({ $0.tracksReads }), client.link.tracksReads != reads {
                client.link.track(reads: reads)
            }
            client.link.onTrackingRefused { [weak self] in self?.refuseTracking() }
            let number = client.link.add(listener, for: keyspace)
            let isWanted = self.state.withLock { state in
                let attachment = state.registrations[listener.number]?.attachments[listener.endpoint]
                guard attachment?.node === node, attachment?.number == nil else { return false }
                state.registrations[listener.number]?.attachments[listener.endpoint]?.number = number
                return true
            }
            if isWanted { client.begin() } else { client.link.remove(number) }
        }
    }

    private func detach(_ attachment: Attachment, _ state: inout State) {
        guard let number = attachment.number else { return }
        state.queue.append { attachment.node.existing?.link.remove(number) }
    }

    private func change(_ number: UInt64, _ state: inout State, _ body: (inout PartTrust) -> [PartTrust.Effect]) {
        guard var registration = state.registrations[number] else { return }
        let effects = body(&registration.trust)
        state.registrations[number] = registration
        guard !effects.isEmpty else { return }
        let listener = registration.listener
        state.queue.append { for effect in effects { effect.tell(listener) } }
    }

    /// Does what is in the queue, outside the lock and in its order; other threads leave their work to this one
    /// meanwhile.
    private func deliver() {
        while true {
            let some = state.withLock { state -> [@Sendable () -> Void] in
                guard !state.isDelivering, !state.queue.isEmpty else { return [] }
                state.isDelivering = true
                return exchange(&state.queue, with: [])
            }
            guard !some.isEmpty else { return }
            for step in some { step() }
            state.withLock { $0.isDelivering = false }
        }
    }
}

extension PartTrust.Effect {
    fileprivate func tell(_ listener: any PartListener) {
        switch self {
        case .established(let part, let until): listener.established(part, trustedUntil: until)
        case .trusted(let part, let until, let told): listener.trusted(part, until: until, told: told)
        case .lost(let part): listener.lost(part)
        }
    }
}
