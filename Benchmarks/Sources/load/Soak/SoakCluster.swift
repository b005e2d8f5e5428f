import Foundation
import StrataTesting

/// The cluster of a soak: three primaries with a replica each, and a proxy before each node, to whose port the nodes
/// send clients.
final class SoakCluster: Sendable {
    /// What one node says of itself and the others.
    private struct View {
        /// The id of the owner of each anchor slot, `nil` without one.
        var anchors: [String?] = []
        var ownID = ""
        var isPrimary = false
        /// What this node serves.
        var slots: Set<Int> = []
        var epoch = 0
        /// Whether slots are on their way from or to this node.
        var isMoving = false
        /// The ports of all nodes, by id.
        var ports: [String: Int] = [:]
    }

    struct NoPrimary: Error, CustomStringConvertible {
        let place: String
        var description: String { "\(place) of the cluster has no primary" }
    }

    private let cluster: RedisCluster
    let proxies: [FaultProxy]

    var nodes: [RedisServer] { cluster.nodes }

    private init(_ cluster: RedisCluster, _ proxies: [FaultProxy]) {
        self.cluster = cluster
        self.proxies = proxies
    }

    static func start(_ server: RedisServer.Configuration, seed: UInt64) async throws -> SoakCluster {
        var configuration = RedisCluster.Configuration()
        configuration.replicasPerPrimary = 1
        configuration.server = server
        configuration.nodeTimeout = SoakServers.silence
        configuration.deadline = .seconds(60)
        let cluster = try await RedisCluster.start(configuration)
        do {
            var proxies: [FaultProxy] = []
            for (number, node) in cluster.nodes.enumerated() {
                let place = node.tlsEndpoint ?? node.endpoint
                proxies.append(try await FaultProxy.start(to: place, seed: seed &+ UInt64(number)))
                let announced = node.tlsPort == nil ? "cluster-announce-port" : "cluster-announce-tls-port"
                try await node.command("CONFIG", "SET", announced, String(proxies[number].port ?? 0))
                try await node.command("CONFIG", "REWRITE")
            }
            let soak = SoakCluster(cluster, proxies)
            try await soak.heal()
            return soak
        } catch {
            try? await cluster.stop()
            throw error
        }
    }

    func stop() async throws {
        for proxy in proxies { await proxy.stop() }
        try await cluster.stop()
    }

    /// Where clients begin, without scheme: the proxies of the primaries.
    var places: String {
        proxies.prefix(cluster.primaries.count).compactMap(\.port).map { "127.0.0.1:\($0)" }.joined(separator: ",")
    }

    /// The two nodes of a shard, the primary of the start first.
    func members(of shard: Int) -> [RedisServer] { [cluster.primaries[shard], cluster.replicas[shard]] }

    // MARK: Looking

    private func view(_ node: RedisServer) async throws -> View {
        let text = try await node.command("CLUSTER", "NODES", within: .milliseconds(500)).text
        var view = View(anchors: SoakSlots.anchors.map { _ in nil })
        for line in text.split(separator: "\n") {
            // id, address, flags, primary, ping sent, pong received, epoch, link state, slots
            let fields = line.split(separator: " ").map(String.init)
            guard fields.count > 7 else { continue }
            let flags = fields[2].split(separator: ",")
            let ranges = fields.dropFirst(8).filter { !$0.hasPrefix("[") }
                .compactMap { range -> ClosedRange<Int>? in
                    let ends = range.split(separator: "-").compactMap { Int($0) }
                    guard let first = ends.first, let last = ends.last else { return nil }
                    return first...last
                }
            view.ports[fields[0]] = fields[1].split(separator: "@").first?.split(separator: ":").last
                .flatMap { Int($0) }
            for (index, anchor) in SoakSlots.anchors.enumerated()
            where ranges.contains(where: { $0.contains(anchor.slot) }) {
                view.anchors[index] = fields[0]
            }
            guard flags.contains("myself") else { continue }
            view.ownID = fields[0]
            view.isPrimary = flags.contains("master")
            view.epoch = Int(fields[6]) ?? 0
            view.isMoving = fields.dropFirst(8).contains { $0.hasPrefix("[") }
            for range in ranges { view.slots.formUnion(range) }
        }
        return view
    }

    /// The node of a shard that calls itself primary, by the newest configuration.
    func primary(of shard: Int) async throws -> RedisServer {
        var found: (node: RedisServer, epoch: Int)?
        for node in members(of: shard) where node.isRunning {
            guard let view = try? await view(node), view.isPrimary, view.slots.contains(SoakSlots.anchors[shard].slot)
            else { continue }
            if view.epoch >= found?.epoch ?? 0 { found = (node, view.epoch) }
        }
        guard let found else { throw NoPrimary(place: "shard \(shard)") }
        return found.node
    }

    /// The slots that a node serves, as it says itself.
    func slots(of node: RedisServer) async throws -> Set<Int> { try await view(node).slots }

    /// The primary that serves a slot.
    func owner(of slot: Int) async throws -> RedisServer {
        for shard in SoakSlots.anchors.indices {
            guard let node = try? await primary(of: shard) else { continue }
            if try await slots(of: node).contains(slot) { return node }
        }
        throw NoPrimary(place: "slot \(slot)")
    }

    /// Whether all others know by now that a node serves a shard; those that do not run, or do not answer, are left
    /// out.
    func isKnown(_ node: RedisServer, as shard: Int) async -> Bool {
        guard let id = try? await view(node).ownID else { return false }
        for other in nodes where other !== node && other.isRunning {
            guard let view = try? await view(other), view.isPrimary else { continue }
            if !members(of: shard).contains(where: { $0 === other }), view.anchors[shard] != id { return false }
        }
        return true
    }

    /// Returns when each shard has a primary that all name, with its replica in step.
    func heal() async throws {
        let end = ContinuousClock.now + SoakServers.healing
        while .now < end {
            if (try? await isWhole()) == true { return }
            try await Task.rest(for: .milliseconds(100))
        }
        throw SoakServers.NotWhole()
    }

    private func isWhole() async throws -> Bool {
        var views: [View] = []
        for node in nodes {
            guard node.isRunning, try await node.command("CLUSTER", "INFO").text.contains("cluster_state:ok") else {
                return false
            }
            views.append(try await view(node))
        }
        guard Set(views.map(\.anchors)).count == 1, !views.contains(where: \.isMoving) else { return false }
        for (index, view) in views.enumerated() {
            guard let port = proxies[index].port, views.allSatisfy({ $0.ports[view.ownID] == Int(port) }) else {
                return false
            }
        }
        for shard in SoakSlots.anchors.indices {
            let roles = try await roles(of: members(of: shard))
            guard roles.filter({ $0 == "master" }).count == 1, roles.contains("connected") else { return false }
        }
        return true
    }

    /// `master`, or the state of a replica's link.
    private func roles(of members: [RedisServer]) async throws -> [String] {
        var roles: [String] = []
        for member in members {
            let role = try await member.command("ROLE").elements ?? []
            roles.append(role.first?.text == "slave" && role.count > 3 ? role[3].text : role.first?.text ?? "")
        }
        return roles
    }

    // MARK: Changes

    /// Has the replica of a shard take over in agreement with its primary.
    ///
    /// - Returns: Whether it has.
    func failOver(_ shard: Int) async throws -> Bool {
        let old = try await primary(of: shard)
        guard let replica = members(of: shard).first(where: { $0 !== old }) else { return false }
        try await replica.command("CLUSTER", "FAILOVER")
        let end = ContinuousClock.now + .seconds(10)
        while .now < end {
            if try await primary(of: shard) === replica { return true }
            try await Task.rest(for: .milliseconds(20))
        }
        return false
    }

    /// Moves up to so many slots to another primary, from one on; those that stay are left out.
    ///
    /// - Returns: How many have moved.
    func move(_ number: Int, from first: Int, to shard: Int) async throws -> Int {
        let (source, target) = (try await owner(of: first), try await primary(of: shard))
        guard source !== target else { return 0 }
        let here = try await slots(of: source)
        var moved = 0
        for slot in first..<min(first + number, SoakSlots.count) {
            guard here.contains(slot), !SoakSlots.anchors.contains(where: { $0.slot == slot }) else { continue }
            try await cluster.move(slot, from: source, to: target)
            moved += 1
        }
        return moved
    }
}
