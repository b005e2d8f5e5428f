import FleetChecker
import Foundation
import StrataTesting
import Synchronization

/// Makes things go wrong, in an order that follows from the seed, and sets them right again.
final class SoakTrouble: Sendable {
    let servers: SoakServers
    let fleet: SoakFleet
    let settings: SoakSettings
    private let beats: SoakBeats
    private let recorder: HistoryRecorder
    private let counts = Mutex<[SoakFault: Int]>([:])
    private let failures = Mutex<[String]>([])
    /// When the run ends.
    private let end = Mutex(ContinuousClock.now)
    private let findings = Mutex<[String: Int]>([:])
    private let refused = Mutex<[String: Int]>([:])

    init(
        _ servers: SoakServers,
        _ fleet: SoakFleet,
        _ beats: SoakBeats,
        _ recorder: HistoryRecorder,
        _ settings: SoakSettings
    ) {
        self.servers = servers
        self.fleet = fleet
        self.beats = beats
        self.recorder = recorder
        self.settings = settings
    }

    /// How often each fault was caused, to its end.
    var faults: [SoakFault: Int] { counts.withLock { $0 } }

    /// What the driver itself could not do.
    var ownFailures: [String] { failures.withLock { $0 } }

    /// What was counted while faults lasted, by name.
    var counted: [String: Int] { findings.withLock { $0 } }

    /// What servers have refused to the instances' user, by what it was.
    var refusals: [String: Int] { refused.withLock { $0 } }

    /// A server has refused something to the instances' user.
    func refuse(_ what: String) { refused.withLock { $0[what, default: 0] += 1 } }

    func count(_ name: String, _ number: Int = 1) { findings.withLock { $0[name, default: 0] += number } }

    /// Causes faults in all places until `end`; returns when all is set right.
    func run(until end: ContinuousClock.Instant, seed: UInt64) async {
        self.end.withLock { $0 = end }
        await withTaskGroup { group in
            for (index, place) in SoakFault.Place.ofDriver.enumerated() {
                group.addTask { [self] in
                    var random = SeededGenerator(seed: seed &+ UInt64(index) &* 104_729)
                    while true {
                        let rest = Duration.milliseconds(Int.random(in: 100...2_000, using: &random))
                        guard let fault = SoakFault.next(in: place, of: settings.faults, using: &random),
                            ContinuousClock.now + rest < end
                        else { return }
                        try? await Task.rest(for: rest)
                        await cause(fault, &random)
                    }
                }
            }
        }
    }

    private func cause(_ fault: SoakFault, _ random: inout SeededGenerator) async {
        do {
            let mark = recorder.beginFault(fault.rawValue)
            defer { mark.end() }
            switch fault.place {
            case .server:
                beats.note(isTroubled: true)
                defer { beats.note(isTroubled: false) }
                try await troubleServer(fault, &random)
            case .instance: try await troubleInstance(fault, &random)
            case .way: try await troubleWay(fault, &random)
            case .data: try await troubleData(fault, &random)
            case .work: break
            }
            counts.withLock { $0[fault, default: 0] += 1 }
        } catch {
            failures.withLock { $0.append("\(fault.rawValue): \(error)") }
        }
    }

    // MARK: At the server

    private func troubleServer(_ fault: SoakFault, _ random: inout SeededGenerator) async throws {
        let pause = Duration.milliseconds(Int.random(in: 20...1_500, using: &random))
        let shards = settings.topology.shards
        let shard = shards == 1 ? 0 : Int.random(in: 0..<shards, using: &random)
        let server = try await servers.primary(of: shard)
        switch fault {
        case .serverStopped:
            let length = Duration.milliseconds(Int.random(in: 20...4_000, using: &random))
            try await server.pause()
            try await Task.rest(for: length)
            try await server.resume()
        case .serverKilledDataKept, .serverKilledDataLost:
            try await server.kill()
            try await Task.rest(for: pause)
            if fault == .serverKilledDataLost { beats.willEmpty(shard) }
            try await server.restart(keepingData: fault == .serverKilledDataKept)
        case .serverSetBack: try await setBack(server, after: pause)
        case .failover:
            let isDone =
                servers.isAgreed
                ? try await beats.agreeing(on: shard) { try await servers.failOver(shard) }
                : try await servers.failOver(shard)
            count(isDone ? "failovers_on_purpose" : "failovers_refused")
        case .primaryKilled:
            try await server.kill()
            try await servers.waitForSuccessor(of: server, shard)
            try await Task.rest(for: pause)
            try await server.restart(keepingData: pause < .milliseconds(750))
        case .primaryStopped:
            try await server.pause()
            let hasSuccessor = (try? await servers.waitForSuccessor(of: server, shard)) != nil
            try await Task.rest(for: pause)
            try await server.resume()
            if !hasSuccessor { count("without_successor") }
        case .migration: try await migrate(&random)
        case .callersKilled: try await killOwnConnections(of: "normal", at: server)
        case .linksKilled: try await killOwnConnections(of: "pubsub", at: server)
        case .scriptsFlushed: try await server.command("SCRIPT", "FLUSH")
        default:
            beats.willEmpty(shard)
            try await server.command("FLUSHALL")
        }
        try await heal()
    }

    /// Returns when the servers are whole again, at the end of the run at the latest: until then the fault lasts.
    private func heal() async throws {
        let end = end.withLock { $0 }
        repeat {
            do { return try await servers.heal() } catch is SoakServers.NotWhole {
                count("not_whole")
                let account = await servers.account()
                failures.withLock { $0.append("not whole: \(account)") }
            }
        } while ContinuousClock.now < end
    }

    /// Moves a range of slots that begins with that of a key.
    private func migrate(_ random: inout SeededGenerator) async throws {
        let slot = SoakSlots.slot(of: String(Int.random(in: 0..<SoakRoom.totalKeys(settings), using: &random)))
        let length = Int.random(in: 1...64, using: &random)
        let shard = Int.random(in: 0..<settings.topology.shards, using: &random)
        let moved = try await servers.move(length, from: slot, to: shard)
        if moved > 0 { count("migrations") }
        count("migrated_slots", moved)
    }

    /// Ends the connections of the instances, and of no replica or Sentinel.
    private func killOwnConnections(of type: String, at server: RedisServer) async throws {
        for client in try await server.command("CLIENT", "LIST", "TYPE", type).text.split(whereSeparator: \.isNewline) {
            let fields = client.split(separator: " ")
            guard fields.contains(where: { $0.hasPrefix("name=strata") }),
                let id = fields.first(where: { $0.hasPrefix("id=") })
            else {
                continue
            }
            _ = try await server.command("CLIENT", "KILL", "ID", String(id.dropFirst(3)))
        }
    }

    /// Keeps what the server has on disk, and some time later kills it and starts it with that.
    private func setBack(_ server: RedisServer, after pause: Duration) async throws {
        guard let folder = server.folder else { return }
        let (data, copy) = (folder + "/data", folder + "/data-before")
        try? FileManager.default.removeItem(atPath: copy)
        try await server.pause()
        try FileManager.default.copyItem(atPath: data, toPath: copy)
        try await server.resume()
        try await Task.rest(for: .seconds(2) + pause)
        try await server.kill()
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.moveItem(atPath: copy, toPath: data)
        try await server.restart(keepingData: true)
    }

    // MARK: In an instance

    private func troubleInstance(_ fault: SoakFault, _ random: inout SeededGenerator) async throws {
        let number = Int.random(in: 0..<(await fleet.count), using: &random)
        let length = Duration.milliseconds(Int.random(in: 20...5_000, using: &random))
        if fault == .instanceKilled {
            try await fleet.kill(number)
        } else {
            try await fleet.stop(number, for: length)
        }
    }

    // MARK: On the way

    private func troubleWay(_ fault: SoakFault, _ random: inout SeededGenerator) async throws {
        // Before instances, or before the nodes of a cluster.
        let own = await fleet.proxies
        let nodes = servers.nodeProxies
        let number = Int.random(in: 0..<(nodes.isEmpty ? own.count : nodes.count), using: &random)
        let connection = Int.random(in: 0..<8, using: &random)
        let length = Duration.milliseconds(Int.random(in: 20...5_000, using: &random))
        let goesToServer = Bool.random(using: &random)
        let proxy = nodes.isEmpty ? own[number].proxy : nodes[number]
        let open = proxy.snapshot.connections
        let one: FaultProxy.Scope = open.isEmpty ? .all : .connection(open[connection % open.count].id)
        switch fault {
        case .wayFrozen:
            proxy.stall()
            try await Task.rest(for: length)
            proxy.resume()
        case .connectionFrozen:
            proxy.stall(of: one)
            try await Task.rest(for: length)
            proxy.resume()
        case .halfFrozen:
            let direction: FaultProxy.Directions = goesToServer ? .toServer : .toClient
            proxy.stall(direction, of: one)
            try await Task.rest(for: length)
            proxy.resume()
        case .lateSets:
            let all = nodes.isEmpty ? [proxy] : nodes
            for proxy in all { proxy.stall(.toServer, of: .live) }
            let sets = try? await fleet.setLate(nodes.isEmpty ? own[number].number : number % (await fleet.count))
            count("late_sets", sets?.changed ?? 0)
            try await Task.rest(for: length / 3)
            for proxy in all { proxy.resume() }
        default: proxy.resetConnections(connection < 4 ? .live : one)
        }
    }
}
