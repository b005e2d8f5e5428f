internal import Strata

/// Which parts of a keyspace are told of changes in a cluster, and until when that may be relied on.
///
/// A part stands while the links to all nodes stand that serve one of its slots: each tells of its own keys only. A
/// link alone does not prove that its node still serves them. So a part is relied on for no longer than ``lease`` after
/// the map was last seen, and after each of its nodes has last said that it is part of a working cluster: one that was
/// cut off with this instance goes on answering PINGs.
///
/// When a slot of a part gets another owner, or keys of it are on their way to another node, everything in the part is
/// void.
struct PartTrust: Sendable {
    /// What follows from an event, in this order.
    enum Effect: Sendable, Equatable {
        case established(KeyspacePart, until: MonotonicInstant)
        case trusted(KeyspacePart, until: MonotonicInstant, told: MonotonicInstant)
        case lost(KeyspacePart)
    }

    private struct Node: Sendable {
        /// Until when the link may be relied on; `nil` while it does not stand.
        var trust: MonotonicInstant?
        /// Everything that was changed before has been told.
        var told = MonotonicInstant.distantPast
        var confirmedAt = MonotonicInstant.distantPast
    }

    /// For how long the map, and what a node says of itself, is relied on; in nanoseconds.
    let lease: Int64
    private var nodes: [RedisEndpoint: Node] = [:]
    /// Of each part the nodes whose links have to stand; `nil` while one of its slots is not served.
    private var needed: [Set<RedisEndpoint>?]
    private var isStanding: [Bool]
    private var seenAt = MonotonicInstant.distantPast

    init(lease: Int64) {
        self.lease = lease
        needed = Array(repeating: nil, count: KeyspacePart.count)
        isStanding = Array(repeating: false, count: KeyspacePart.count)
    }

    /// The nodes of the first part that is not told of changes; `nil` when all are told.
    var missing: Set<RedisEndpoint>? {
        isStanding.firstIndex(of: false).map { needed[$0] ?? [] }
    }

    /// The cluster was seen.
    ///
    /// - Parameters:
    ///   - sets: Of each part the nodes that may serve one of its keys; `nil` if a slot is not served.
    ///   - changed: The parts of which a slot has another owner, or another node has become one of those.
    ///   - time: When the cluster was asked for that.
    /// - Returns: What follows.
    mutating func seen(_ sets: [Set<RedisEndpoint>?], changed: Set<Int>, at time: MonotonicInstant) -> [Effect] {
        needed = sets
        seenAt = max(seenAt, time)
        let known = Set(sets.compactMap { $0 }.joined())
        nodes = nodes.filter { known.contains($0.key) || $0.value.trust != nil }
        var effects: [Effect] = []
        for part in KeyspacePart.all {
            if changed.contains(part.number) || !canStand(part) { fall(part, &effects) }
            stand(part, &effects)
        }
        return effects
    }

    /// A node has said, when asked at that time, that it is part of a working cluster.
    mutating func confirmed(_ endpoint: RedisEndpoint, at time: MonotonicInstant) -> [Effect] {
        nodes[endpoint, default: Node()].confirmedAt = max(nodes[endpoint]?.confirmedAt ?? .distantPast, time)
        var effects: [Effect] = []
        for part in parts(of: endpoint) { stand(part, &effects) }
        return effects
    }

    /// The link to a node stands.
    mutating func established(_ endpoint: RedisEndpoint, until: MonotonicInstant) -> [Effect] {
        nodes[endpoint, default: Node()].trust = until
        var effects: [Effect] = []
        for part in parts(of: endpoint) {
            // What was told until now came over another link.
            fall(part, &effects)
            stand(part, &effects)
        }
        return effects
    }

    /// The link to a node may be relied on for longer.
    mutating func trusted(_ endpoint: RedisEndpoint, until: MonotonicInstant, told: MonotonicInstant) -> [Effect] {
        nodes[endpoint, default: Node()].trust = until
        nodes[endpoint]?.told = told
        var effects: [Effect] = []
        for part in parts(of: endpoint) {
            if isStanding[part.number] {
                effects.append(.trusted(part, until: end(part), told: toldBefore(part)))
            } else {
                stand(part, &effects)
            }
        }
        return effects
    }

    /// The link to a node is lost.
    mutating func lost(_ endpoint: RedisEndpoint) -> [Effect] {
        nodes[endpoint]?.trust = nil
        var effects: [Effect] = []
        for part in parts(of: endpoint) { fall(part, &effects) }
        return effects
    }

    // MARK: Inside

    private func parts(of endpoint: RedisEndpoint) -> [KeyspacePart] {
        KeyspacePart.all.filter { needed[$0.number]?.contains(endpoint) == true }
    }

    private mutating func fall(_ part: KeyspacePart, _ effects: inout [Effect]) {
        guard isStanding[part.number] else { return }
        isStanding[part.number] = false
        effects.append(.lost(part))
    }

    private func canStand(_ part: KeyspacePart) -> Bool {
        guard let needed = needed[part.number], !needed.isEmpty else { return false }
        return needed.allSatisfy { nodes[$0]?.trust != nil && nodes[$0]?.confirmedAt != .distantPast }
    }

    private mutating func stand(_ part: KeyspacePart, _ effects: inout [Effect]) {
        guard !isStanding[part.number], canStand(part) else { return }
        isStanding[part.number] = true
        effects.append(.established(part, until: end(part)))
    }

    /// Until when a part may be relied on.
    private func end(_ part: KeyspacePart) -> MonotonicInstant {
        (needed[part.number] ?? [])
            .reduce(seenAt.advanced(byNanoseconds: lease)) { end, endpoint in
                guard let node = nodes[endpoint], let trust = node.trust else { return .distantPast }
                return min(end, trust, node.confirmedAt.advanced(byNanoseconds: lease))
            }
    }

    private func toldBefore(_ part: KeyspacePart) -> MonotonicInstant {
        (needed[part.number] ?? []).reduce(.distantFuture) { min($0, nodes[$1]?.told ?? .distantPast) }
    }
}
