/// A server: one thread that runs in rounds, the values of its keys, and who fetches them.
struct SimulatedServer {
    struct Command {
        enum Kind {
            case get
            case lease
            case store
            case set
            /// Of the link.
            case ping
            /// At the numbers of invalidations, so that a server that evicts keys keeps them.
            case look
            case connect(isLink: Bool)
        }

        var kind: Kind
        var instance: Int
        var key = 0
        /// Until when the value is fresh that is stored.
        var freshUntil: Int64 = 0
    }

    struct Answer {
        enum Content {
            case value(freshUntil: Int64)
            case nothing
            /// The lease is the asker's.
            case leads
            /// Another has it.
            case waits
            case done
        }

        var command: Command
        var content: Content
    }

    /// What a round has come to.
    struct Round {
        var answers: [Answer] = []
        var changed: [Int] = []
        /// Whom each change is told, where that are not all.
        var told: [[Int]] = []
        var cost = 0.0
    }

    private(set) var isUp = true
    /// Until when the round goes on that runs; `nil` while the server waits.
    var busyUntil: Int64?
    var waiting: [Command] = []
    /// Counts restarts: what was sent before one is lost.
    private(set) var life = 0
    private var freshUntil: [Int: Int64] = [:]
    private var leases: [Int: (holder: Int, end: Int64)] = [:]
    private var readers: [Int: Set<Int>] = [:]
    private(set) var listeners = 0

    mutating func die() {
        isUp = false
        life += 1
        busyUntil = nil
        waiting = []
        freshUntil = [:]
        leases = [:]
        readers = [:]
        listeners = 0
    }

    mutating func comeBack() { isUp = true }

    /// Runs what has come.
    mutating func run(at now: Int64, _ plan: FleetPlan) -> Round {
        let costs = plan.costs
        var round = Round(cost: costs.round)
        for command in exchange(&waiting, with: []) {
            round.cost += cost(of: command.kind, costs)
            round.answers.append(Answer(command: command, content: answer(command, at: now, plan, &round)))
        }
        if plan.tracking == .broadcast, !round.changed.isEmpty {
            round.cost += Double(listeners) * (costs.listener + costs.toldKey * Double(round.changed.count))
        }
        return round
    }

    private func cost(of kind: Command.Kind, _ costs: ServerCosts) -> Double {
        switch kind {
        case .get, .ping: costs.command
        case .lease: costs.lease
        case .store, .set: costs.store
        case .look: costs.look
        case .connect: costs.connection + costs.handshake
        }
    }

    private mutating func answer(
        _ command: Command,
        at now: Int64,
        _ plan: FleetPlan,
        _ round: inout Round
    ) -> Answer.Content {
        let key = command.key
        switch command.kind {
        case .get:
            remember(command, plan, &round)
            guard let until = freshUntil[key], until > now else { return .nothing }
            return .value(freshUntil: until)
        case .lease:
            remember(command, plan, &round)
            if let until = freshUntil[key], until > now { return .value(freshUntil: until) }
            if let lease = leases[key], lease.end > now, lease.holder != command.instance { return .waits }
            leases[key] = (command.instance, now + 2_000_000_000)
            return .leads
        case .store, .set:
            freshUntil[key] = command.freshUntil
            leases[key] = nil
            round.changed.append(key)
            if plan.tracking == .perKey {
                let holders = Array(readers.removeValue(forKey: key) ?? [])
                round.cost += Double(holders.count) * plan.costs.holder
                round.told.append(holders)
            }
            // It reads what it has written.
            remember(command, plan, &round)
            return .done
        case .connect(let isLink):
            if isLink { listeners += 1 }
            return .done
        case .ping, .look: return .done
        }
    }

    private mutating func remember(_ command: Command, _ plan: FleetPlan, _ round: inout Round) {
        guard plan.tracking == .perKey else { return }
        round.cost += plan.costs.remembering
        readers[command.key, default: []].insert(command.instance)
    }
}

/// Puts a value in the place of another.
private func exchange<Value>(_ place: inout Value, with new: Value) -> Value {
    let old = place
    place = new
    return old
}
