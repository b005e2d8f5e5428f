import StrataTesting

/// Takes the protections of a fleet out, one at a time, and tells what is old in memory because of that.
struct VerifyPlanting {
    /// The instance that makes the changes; it is as it should be.
    static let writer = 0
    /// Whose memory is written by hand.
    static let keeper = 1
    /// Which does not hear of changes.
    static let unlinked = 2
    /// From whose link messages are taken.
    static let robbed = 3

    static let kinds: [VerifyFleet.Kind] = [
        .init(), .init(), .init(listens: false),
        // A link that asks for a reply meanwhile could lose that.
        .init(ping: 600_000, hasProxy: true),
    ]

    let fleet: VerifyFleet
    let server: RedisServer
    /// Keys that no work changes.
    let keys: Range<Int>
    /// How many inconsistencies of each kind.
    let count: Int
    /// How long after a change nothing more is asked because of it.
    let settling: Duration

    /// Memory that was written by hand outlives a set, a removal and an invalidation by tag.
    func keep() async throws -> Set<VerifyCase> {
        let keys = Array(keys.prefix(count))
        try await fleet.order(.keep(keys), to: Self.keeper)
        // The order of two events is known by a ping of the link.
        try await Task.rest(for: .seconds(2))
        var before: [Int: UInt64] = [:]
        for key in keys { before[key] = try await fleet.order(.look(key), to: Self.keeper) }
        for (number, key) in keys.enumerated() {
            let ways = VerifyChange.allCases
            try await fleet.order(.change(key, ways[number % ways.count]), to: Self.writer)
            try await Task.rest(for: .milliseconds(100))
        }
        try await Task.rest(for: settling)
        return try await served(before, by: Self.keeper)
    }

    /// Takes the notice of a set from a link, which goes on as if nothing had happened.
    func rob() async throws -> Set<VerifyCase> {
        guard let proxy = fleet.proxies[Self.robbed] else { return [] }
        var planted: Set<VerifyCase> = []
        var rest = Array(keys.dropFirst(count))
        // What else comes over the link may be taken in its place: then the key was heard of, and the next one is
        // tried.
        while planted.count < count, let key = rest.popLast() {
            try await Task.rest(for: settling)
            guard let version = try await fleet.order(.look(key), to: Self.robbed) else { continue }
            guard let link = try await link(through: proxy) else { continue }
            proxy.edit(.swallowReply(), .toClient, of: .connection(link))
            try await fleet.order(.change(key, .set), to: Self.writer)
            try await Task.rest(for: .milliseconds(500))
            planted.formUnion(try await served([key: version], by: Self.robbed))
        }
        return planted
    }

    /// The connection of the robbed instance that subscribes: the server and the proxy list them in the same order.
    private func link(through proxy: FaultProxy) async throws -> FaultProxy.ConnectionID? {
        let name = "@\(VerifyInstance.name(of: Self.robbed)) "
        let clients = try await server.command("CLIENT", "LIST").text
        let own = clients.split(separator: "\n").filter { $0.contains(name) }
            .compactMap { line in
                line.split(separator: " ").first.flatMap { Int($0.dropFirst("id=".count)) }
                    .map { (id: $0, subscribes: !line.contains(" sub=0 ")) }
            }
            .sorted { $0.id < $1.id }
        let connections = proxy.snapshot.connections
        guard own.count == connections.count, let place = own.firstIndex(where: { $0.subscribes }) else { return nil }
        return connections[place].id
    }

    /// Those of the keys of which an instance serves the version that it served before.
    private func served(_ before: [Int: UInt64], by instance: Int) async throws -> Set<VerifyCase> {
        var cases: Set<VerifyCase> = []
        for (key, version) in before where try await fleet.order(.look(key), to: instance) == version {
            cases.insert(VerifyCase(instance: instance, key: key))
        }
        return cases
    }
}
