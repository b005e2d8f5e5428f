/// Which replicas each primary of a cluster has.
///
/// Read from the same answers as ``SlotMap``. What makes no sense is left out.
struct ReplicaMap: Sendable, Equatable {
    /// So many of each primary are talked to.
    static let mostReplicas = 2

    /// By their primary; some of them, where there are many.
    private(set) var replicas: [RedisEndpoint: [RedisEndpoint]] = [:]

    init() {}

    /// Reads a reply to CLUSTER SHARDS: the replicas that have not failed.
    ///
    /// One that is "loading" is so for the node that was asked, which may not have heard of its offset yet: others, and
    /// the replica itself, may know better for many seconds.
    init(shards reply: RESPValue, from source: RedisEndpoint, usesTLS: Bool = false) {
        for shard in reply.array ?? [] {
            guard let nodes = SlotMap.fields(shard)["nodes"]?.array,
                let primary = SlotMap.primary(of: nodes)
                    .flatMap({ SlotMap.endpoint(of: $0, toldBy: source, usesTLS: usesTLS) })
            else { continue }
            let others = nodes.map { SlotMap.fields($0) }
                .filter { $0["role"]?.string == "replica" && $0["health"]?.string != "fail" }
            add(others.compactMap { SlotMap.endpoint(of: $0, toldBy: source, usesTLS: usesTLS) }, of: primary)
        }
    }

    /// Reads a reply to CLUSTER SLOTS.
    init(slots reply: RESPValue, from source: RedisEndpoint) {
        for range in reply.array ?? [] {
            guard let parts = range.array, parts.count >= 3,
                let primary = SlotMap.endpoint(of: parts[2], toldBy: source)
            else { continue }
            add(parts.dropFirst(3).compactMap { SlotMap.endpoint(of: $0, toldBy: source) }, of: primary)
        }
    }

    /// Keeps replicas of an earlier map that this one does not know, for there are nodes that leave out those of whose
    /// offset they have not heard.
    ///
    /// - Parameters:
    ///   - map: The earlier map.
    ///   - isKept: Whether a replica of a primary, in this order, is still one as far as is known otherwise.
    mutating func keep(from map: ReplicaMap, where isKept: (RedisEndpoint, RedisEndpoint) -> Bool) {
        let known = Set(replicas.values.joined())
        for (primary, others) in map.replicas {
            let room = Self.mostReplicas - (replicas[primary]?.count ?? 0)
            let kept = others.filter { !known.contains($0) && isKept($0, primary) }.prefix(max(0, room))
            if !kept.isEmpty { replicas[primary, default: []] += kept }
        }
    }

    private mutating func add(_ endpoints: [RedisEndpoint], of primary: RedisEndpoint) {
        guard replicas.count < SlotMap.mostNodes || replicas[primary] != nil else { return }
        let all = Set(replicas[primary] ?? []).union(endpoints).subtracting([primary])
        guard !all.isEmpty else { return }
        // In an order that is each process's own, so that a fleet does not read one of them alone.
        replicas[primary] = Array(all.sorted { $0.hashValue < $1.hashValue }.prefix(Self.mostReplicas))
    }
}
