/// Which primary serves which slot.
struct SlotMap: Sendable, Equatable {
    /// More primaries than this are no cluster; the specification's limit.
    static let mostNodes = 1_000
    /// Where a slot has no owner.
    static let nobody = UInt16.max

    /// The primaries, also those without slots where the server tells of them and they are online.
    private(set) var nodes: [RedisEndpoint] = []
    /// For each slot the index of its owner.
    private(set) var owners = [UInt16](repeating: nobody, count: HashSlot.count)
    /// The places of the primaries in ``nodes``.
    private var indices: [RedisEndpoint: UInt16] = [:]
    /// How many slots were given out, some maybe twice.
    private var given = 0

    init() {}

    /// Whether each slot has an owner.
    var isWhole: Bool { !owners.contains(Self.nobody) }

    /// The owner of a slot.
    func owner(of slot: UInt16) -> RedisEndpoint? {
        let owner = owners[Int(slot)]
        return owner == Self.nobody ? nil : nodes[Int(owner)]
    }

    /// The owners of a range of slots; `nil` when one of them has none.
    func owners(of slots: Range<Int>) -> Set<RedisEndpoint>? {
        var found: Set<RedisEndpoint> = []
        var last: UInt16?
        // Neighbours mostly have the same owner.
        for owner in owners[slots] where owner != last {
            guard owner != Self.nobody else { return nil }
            found.insert(nodes[Int(owner)])
            last = owner
        }
        return found
    }

    /// The same map with another owner of a slot.
    func moving(_ slot: UInt16, to endpoint: RedisEndpoint) -> SlotMap {
        var map = self
        guard let index = map.index(of: endpoint) else { return self }
        map.owners[Int(slot)] = index
        return map
    }

    // MARK: Reading

    /// Reads a reply to CLUSTER SHARDS.
    ///
    /// A slot that is given twice belongs to the first node; one that is never given has no owner. Parts that make no
    /// sense are left out.
    ///
    /// - Parameters:
    ///   - reply: The reply.
    ///   - source: The node that has sent it.
    ///   - usesTLS: Whether nodes are reached by TLS: each may have a port for that, and one without.
    /// - Throws: ``RedisError/Code/protocolViolation`` when it is no such reply, or one that no cluster sends.
    init(shards reply: RESPValue, from source: RedisEndpoint, usesTLS: Bool = false) throws(RedisError) {
        guard case .array(let shards) = reply else { throw Self.senseless("it is not a list", source) }
        for shard in shards {
            let fields = Self.fields(shard)
            let bounds = fields["slots"]?.array?.map { $0.number(in: 0...Int64(HashSlot.count - 1)) } ?? []
            // Clusters go on telling of a primary that has died, after its replica has taken its slots.
            guard let node = fields["nodes"]?.array.flatMap({ Self.primary(of: $0) }),
                !bounds.isEmpty || Self.isOnline(node),
                let endpoint = Self.endpoint(of: node, toldBy: source, usesTLS: usesTLS)
            else { continue }
            guard let index = index(of: endpoint) else { throw Self.senseless("too many primaries", source) }
            for start in stride(from: 0, to: bounds.count - 1, by: 2) {
                try give(bounds[start], bounds[start + 1], to: index, source)
            }
        }
        try check(source)
    }

    /// Reads a reply to CLUSTER SLOTS, which names the ports that fit the connection it was sent over.
    ///
    /// - Throws: As ``init(shards:from:)``.
    init(slots reply: RESPValue, from source: RedisEndpoint) throws(RedisError) {
        guard case .array(let ranges) = reply else { throw Self.senseless("it is not a list", source) }
        for range in ranges {
            guard let parts = range.array, parts.count >= 3, let endpoint = Self.endpoint(of: parts[2], toldBy: source)
            else { continue }
            guard let index = index(of: endpoint) else { throw Self.senseless("too many primaries", source) }
            let bounds = parts[0...1].map { $0.number(in: 0...Int64(HashSlot.count - 1)) }
            try give(bounds[0], bounds[1], to: index, source)
        }
        try check(source)
    }

    private mutating func index(of endpoint: RedisEndpoint) -> UInt16? {
        if let index = indices[endpoint] { return index }
        guard nodes.count < Self.mostNodes else { return nil }
        let index = UInt16(nodes.count)
        nodes.append(endpoint)
        indices[endpoint] = index
        return index
    }

    private mutating func give(
        _ first: Int64?,
        _ last: Int64?,
        to index: UInt16,
        _ source: RedisEndpoint
    ) throws(RedisError) {
        guard let first, let last, first <= last else { return }
        given += Int(last - first) + 1
        // Where slots are given out again and again, reading it would take for ever.
        guard given <= 4 * HashSlot.count else { throw Self.senseless("slots are assigned many times", source) }
        for slot in Int(first)...Int(last) where owners[slot] == Self.nobody { owners[slot] = index }
    }

    private func check(_ source: RedisEndpoint) throws(RedisError) {
        guard owners.contains(where: { $0 != Self.nobody }) else { throw Self.senseless("no slot is served", source) }
    }

    static func fields(_ value: RESPValue) -> [String: RESPValue] {
        guard let parts = value.array else { return [:] }
        var fields: [String: RESPValue] = [:]
        for start in stride(from: 0, to: parts.count - 1, by: 2) {
            if let name = parts[start].string { fields[name] = parts[start + 1] }
        }
        return fields
    }

    /// The primary among a shard's nodes; one that is online before one that is not.
    static func primary(of nodes: [RESPValue]) -> [String: RESPValue]? {
        let primaries = nodes.map { fields($0) }.filter { $0["role"]?.string == "master" }
        return primaries.first { isOnline($0) } ?? primaries.first
    }

    private static func isOnline(_ node: [String: RESPValue]) -> Bool { node["health"]?.string == "online" }

    /// Where a node of a shard listens.
    static func endpoint(
        of node: [String: RESPValue],
        toldBy source: RedisEndpoint,
        usesTLS: Bool
    ) -> RedisEndpoint? {
        let preferred = node["endpoint"]?.string
        let host = preferred == "?" ? node["ip"]?.string : preferred
        // One that tells of a single port is believed to have no other.
        let ports = [node["port"], node["tls-port"]].compactMap { $0?.integer }
        return .node(host: host, port: usesTLS ? ports.last : ports.first, toldBy: source)
    }

    /// Where a node of a range of slots listens.
    static func endpoint(of node: RESPValue, toldBy source: RedisEndpoint) -> RedisEndpoint? {
        guard let node = node.array, node.count >= 2 else { return nil }
        return .node(host: host(of: node), port: node[1].integer, toldBy: source)
    }

    /// The preferred address; where that is unknown, another that the node is told under.
    private static func host(of node: [RESPValue]) -> String? {
        guard node[0].string == "?", node.count > 3 else { return node[0].string }
        return fields(node[3])["ip"]?.string
    }

    private static func senseless(_ why: String, _ source: RedisEndpoint) -> RedisError {
        RedisError(
            code: .protocolViolation,
            message: "the cluster's map of slots makes no sense: \(why)",
            endpoint: source.description
        )
    }
}
