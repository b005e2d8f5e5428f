import FleetChecker
import StrataTesting
import Synchronization

/// Finds out what failovers may have lost.
///
/// It sends each primary a number all the time, and asks a successor for the last one that it has. What replicas get is
/// a beginning of what their primary did. So all changes that were confirmed before that number was sent have survived;
/// those that were confirmed later may be lost, as long as the old primary confirms anything.
final class SoakBeats: Sendable {
    private struct State {
        var losses: [FailoverLoss] = []
        var switches = 0
        /// Those that no fault has caused.
        var unasked = 0
        var isTroubled = false
        /// What old primaries were told to write long after others had taken over.
        var lateWrites = 0
        /// The first of them: how late, and which connections the old primary had.
        var lateNotes: [String] = []
        /// The primaries, by shard.
        var current: [Int: RedisServer] = [:]
        /// When the data of a shard was removed last.
        var emptied: [Int: UInt64] = [:]
        /// Shards whose primary hands over in agreement.
        var agreed: Set<Int> = []
    }

    /// The mark of a failover that no fault has caused.
    static let label = "unasked"
    private static let period: Duration = .milliseconds(10)
    private static let commandTimeout: Duration = .milliseconds(300)
    /// How long clients may go on writing to the old primary once all who tell of primaries name the new one, in
    /// nanoseconds.
    private static let grace: UInt64 = 1_000_000_000
    /// How many of the numbers sent last are known with their times.
    private static let memory = 4_096

    private let servers: SoakServers
    private let settings: SoakSettings
    private let fleet: SoakFleet
    private let recorder: HistoryRecorder
    private let state = Mutex(State())

    init(_ servers: SoakServers, _ fleet: SoakFleet, _ recorder: HistoryRecorder, _ settings: SoakSettings) {
        self.servers = servers
        self.fleet = fleet
        self.recorder = recorder
        self.settings = settings
    }

    /// What failovers may have lost so far.
    var losses: [FailoverLoss] { state.withLock { $0.losses } }

    var switches: Int { state.withLock { $0.switches } }

    /// Failovers that no fault has caused: a machine that is too busy stops its servers for longer than they wait.
    var unasked: Int { state.withLock { $0.unasked } }

    /// A fault at a server begins or ends.
    func note(isTroubled: Bool) { state.withLock { $0.isTroubled = isTroubled } }

    /// What old primaries were told to write long after others had taken over.
    var lateWrites: Int { state.withLock { $0.lateWrites } }

    /// The first of them, in words: how late, and which connections the old primary had.
    var lateNotes: [String] { state.withLock { $0.lateNotes } }

    /// The data of a shard is about to be removed.
    func willEmpty(_ shard: Int) { state.withLock { $0.emptied[shard] = HistoryClock.now() } }

    /// Runs a failover in which the old primary waits for its successor, so that nothing may be lost.
    func agreeing<Result>(on shard: Int, _ body: () async throws -> Result) async throws -> Result {
        state.withLock { _ = $0.agreed.insert(shard) }
        defer { state.withLock { _ = $0.agreed.remove(shard) } }
        let before = switches
        let result = try await body()
        // The switch is noticed before the agreement is over.
        let end = ContinuousClock.now + .seconds(2)
        while switches == before, .now < end { try await Task.rest(for: Self.period) }
        return result
    }

    /// Watches all shards until it is cancelled.
    func run() async {
        guard settings.topology != .single else { return }
        await withTaskGroup { group in
            for shard in 0..<settings.topology.shards { group.addTask { await self.watch(shard) } }
        }
    }

    private func key(_ shard: Int) -> String { "beat:{\(SoakSlots.anchors[shard].tag)}" }

    private func watch(_ shard: Int) async {
        var sent: [Int: UInt64] = [:]
        var number = 0
        var primary: RedisServer?
        /// Since when it has not answered.
        var silentSince: UInt64?
        var looked = 0
        await withTaskGroup { group in
            while !Task.isCancelled {
                try? await Task.rest(for: Self.period)
                looked += 1
                if primary == nil || silentSince != nil || looked >= 5 {
                    looked = 0
                    let named = try? await servers.primary(of: shard)
                    if let named, primary == nil { primary = named }
                    if let named, let old = primary, named !== old, let last = await lastBeat(shard, named) {
                        // Without a number it has nothing that is older than the last removal of all data.
                        let start = last.flatMap { sent[$0] } ?? state.withLock { $0.emptied[shard] ?? 0 }
                        let silence = silentSince
                        primary = named
                        silentSince = nil
                        state.withLock { $0.current[shard] = named }
                        group.addTask { await self.note(shard, old, named, from: start, silentSince: silence) }
                    }
                }
                guard let server = primary else { continue }
                number += 1
                let now = HistoryClock.now()
                sent[number] = now
                sent[number - Self.memory] = nil
                do {
                    try await server.command("SET", key(shard), String(number), within: Self.commandTimeout)
                    silentSince = nil
                } catch {
                    silentSince = silentSince ?? now
                }
            }
        }
    }

    /// The last number that a new primary has, the inner `nil` for none; the outer one when it is no primary yet.
    private func lastBeat(_ shard: Int, _ server: RedisServer) async -> Int?? {
        guard (try? await server.command("ROLE").elements?.first?.text) == "master",
            let reply = try? await server.command("GET", key(shard))
        else { return nil }
        return .some(Int(reply.text))
    }

    /// Takes down what a failover may have lost: the end of what the old primary did, and what it does after that.
    private func note(
        _ shard: Int,
        _ old: RedisServer,
        _ new: RedisServer,
        from start: UInt64,
        silentSince: UInt64?
    ) async {
        let found = HistoryClock.now()
        let keys = (try? await servers.keys(of: new, settings)) ?? nil
        let (isAgreed, isUnasked) = state.withLock { state in
            state.switches += 1
            if !state.isTroubled { state.unasked += 1 }
            return (state.agreed.contains(shard), !state.isTroubled)
        }
        // Until then all nodes of a cluster may have refused all keys, and instances fetched without leases.
        if isUnasked { recorder.recordFault(Self.label, since: min(start, silentSince ?? start)) }
        if isAgreed { return }
        add(FailoverLoss(from: start, until: silentSince ?? found, keys: keys))
        // One that has died begins to count anew.
        var writes: Int? = old.isRunning ? nil : 0
        var known: UInt64?
        var last = found
        /// Since when it has answered each question.
        var steadySince: UInt64?
        // It may be the primary again, and write as it should.
        while !Task.isCancelled, state.withLock({ $0.current[shard] === new }) {
            let asked = HistoryClock.now()
            let text = try? await old.command("INFO", "all", within: Self.commandTimeout).text
            if let text {
                let now = HistoryClock.now()
                let counted = Self.writes(text)
                let isPrimary = text.contains("role:master")
                let steady = steadySince ?? now
                steadySince = steady
                // An instance that stands still hears of nothing, and what lay in the server's sockets while that stood
                // still was sent before.
                let start = max(known ?? .max, await fleet.lastStop, steady)
                let limit = start.addingReportingOverflow(Self.grace)
                if writes == nil || limit.overflow || last <= limit.partialValue {
                    if counted != writes { add(FailoverLoss(from: last, until: now, keys: keys)) }
                } else if isPrimary, let writes, counted > writes, await servers.isKnown(new, as: shard) {
                    // It is not the primary again: then a Sentinel would name it.
                    await noteLate(counted - writes, at: old, after: start)
                }
                // A replica counts what its primary has it do.
                guard isPrimary else { return }
                writes = counted
                last = asked
            } else {
                steadySince = nil
            }
            if known == nil, await servers.isKnown(new, as: shard) { known = HistoryClock.now() }
            try? await Task.rest(for: Self.period)
        }
    }

    /// Takes down writes that have come too late, and who may have sent them.
    private func noteLate(_ count: Int, at old: RedisServer, after start: UInt64) async {
        let delay = Duration.nanoseconds(Int64(clamping: HistoryClock.now() - start))
        let clients = (try? await old.command("CLIENT", "LIST", within: Self.commandTimeout).text) ?? "no list"
        state.withLock { state in
            state.lateWrites += count
            guard state.lateNotes.count < 10 else { return }
            state.lateNotes.append("\(count) writes at an old primary, \(delay) after it could be known:\n\(clients)")
        }
    }

    /// How many commands that may change something a server has carried out for clients.
    private static func writes(_ information: String) -> Int {
        let names = ["set", "setrange", "del", "unlink", "eval", "evalsha", "hset", "hdel", "pexpire"]
        let starts = names.map { "cmdstat_\($0):calls=" }
        var sum = 0
        for line in information.split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
            guard let start = starts.first(where: line.hasPrefix) else { continue }
            sum += Int(line.dropFirst(start.count).prefix { $0.isNumber }) ?? 0
        }
        return sum
    }

    private func add(_ loss: FailoverLoss) { state.withLock { $0.losses.append(loss) } }
}
