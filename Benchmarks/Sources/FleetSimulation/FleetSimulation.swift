import Foundation

/// A fleet, its servers and its source, event by event.
///
/// Instances do what Strata's do, as far as servers, sources and networks notice it: memory above Redis above the
/// source, one flight for a key in each instance, a lease for a key in the fleet, a link that tells of changes, and the
/// way back after an outage. The time is simulated, and nothing sleeps. `docs/scale.md` says how far the results are
/// those of real fleets.
public struct FleetSimulation {
    enum Event {
        case read
        case write
        case ping(instance: Int)
        case arrives(server: Int, SimulatedServer.Command, life: Int)
        case roundEnds(server: Int, SimulatedServer.Round, begun: Int64, life: Int)
        case answered(SimulatedServer.Answer, server: Int, life: Int)
        case told(keys: [Int], to: [[Int]], since: Int64)
        case fetched(instance: Int, key: Int)
        case connects(instance: Int, server: Int, isLink: Bool, attempt: Int)
        case dies
        case comesBack
    }

    /// A read of a key by an instance, and those that joined it.
    struct Flight {
        enum Step {
            case reads
            case competes
            /// Another instance fetches.
            case waits
            case fetches
        }

        var step = Step.reads
        /// When its reads were due, the first one's at the beginning.
        var dues: [Int64]
        /// Whether the value must not be kept: there is no link, or no Redis.
        var isApart = false
        /// Whether the key has changed since.
        var isVoid = false
    }

    struct FlightKey: Hashable {
        var instance: Int
        var key: Int
    }

    let plan: FleetPlan
    private let drawKey: (inout SplitMix) -> Int
    var random: SplitMix
    var now: Int64 = 0
    let end: Int64
    let begin: Int64
    var queue = EventQueue<Event>()
    var servers: [SimulatedServer]
    /// Until when each instance's memory has each key, in ticks of 10 ms; 0 for not at all.
    var memory: [UInt32]
    var flights: [FlightKey: Flight] = [:]
    /// Which connections stand, by instance and server.
    var dataStands: [Bool]
    var linkStands: [Bool]
    /// Reads that wait for the first connection, by instance and server.
    var waiting: [Int: [FlightKey]] = [:]
    /// When Redis was lost first: from then on no instance waits for a connection.
    var firstOutage = Int64.max
    /// Since when each server has had nothing to do.
    var idleSince: [Int64]
    var running = 0
    var line: [FlightKey] = []
    var lineStart = 0
    var fetchedKeys: Set<Int> = []
    public internal(set) var outcome = FleetOutcome()

    /// - Parameters:
    ///   - plan: What is simulated.
    ///   - seed: Decides what comes by chance.
    ///   - drawKey: The key that is read or set next, from 0 up to the number of keys.
    public init(_ plan: FleetPlan, seed: UInt64, drawKey: @escaping (inout SplitMix) -> Int) {
        self.plan = plan
        random = SplitMix(seed: seed)
        self.drawKey = drawKey
        end = Self.nanoseconds(plan.seconds)
        begin = Self.nanoseconds(plan.warmUp)
        servers = Array(repeating: SimulatedServer(), count: plan.servers)
        memory = Array(repeating: 0, count: plan.instances * plan.keys)
        dataStands = Array(repeating: false, count: plan.instances * plan.servers)
        linkStands = dataStands
        idleSince = Array(repeating: 0, count: plan.servers)
        outcome.processor = Array(repeating: 0, count: plan.servers)
        outcome.seconds = plan.seconds - plan.warmUp
    }

    static func nanoseconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }
    var delay: Int64 { Self.nanoseconds(plan.delay) }
    var isCounted: Bool { now >= begin }

    /// Runs it to its end.
    public mutating func run() -> FleetOutcome {
        for instance in 0..<plan.instances {
            for server in 0..<plan.servers {
                for isLink in [false, true] { connect(instance, server, isLink: isLink, attempt: 0, after: 0.001) }
            }
            add(.ping(instance: instance), in: Double.random(in: 0..<1, using: &random))
        }
        add(.read, in: pause(plan.rate * Double(plan.instances)))
        if plan.writes > 0 { add(.write, in: pause(plan.writes)) }
        if let outage = plan.outage {
            add(.dies, in: outage.begin)
            add(.comesBack, in: outage.begin + outage.seconds)
        }
        while let (time, event) = queue.removeFirst(), time <= end {
            now = time
            handle(event)
        }
        outcome.sourceKeys = fetchedKeys.count
        let standing = 2 * Double(plan.instances) * plan.costs.standing / 1e6 * outcome.seconds
        for server in servers.indices where servers[server].isUp { outcome.processor[server] += standing }
        return outcome
    }

    mutating func add(_ event: Event, in seconds: Double) { queue.add(event, at: now + Self.nanoseconds(seconds)) }

    /// Until the next of events that come at a rate, by chance.
    mutating func pause(_ rate: Double) -> Double { -log(1 - Double.random(in: 0..<1, using: &random)) / rate }

    private mutating func handle(_ event: Event) {
        switch event {
        case .read:
            add(.read, in: pause(plan.rate * Double(plan.instances)))
            read(.random(in: 0..<plan.instances, using: &random), drawKey(&random))
        case .write:
            add(.write, in: pause(plan.writes))
            write(.random(in: 0..<plan.instances, using: &random), drawKey(&random))
        case .ping(let instance): ping(instance)
        case .arrives(let server, let command, let life): arrive(command, at: server, life)
        case .roundEnds(let server, let round, let begun, let life): endRound(round, of: server, begun: begun, life)
        case .answered(let answer, let server, let life): answered(answer, by: server, life)
        case .told(let keys, let holders, let since): tell(keys, holders, since: since)
        case .fetched(let instance, let key): fetched(instance, key)
        case .connects(let instance, let server, let isLink, let attempt):
            attemptEnds(instance, server, isLink, attempt)
        case .dies: die()
        case .comesBack: for server in servers.indices { servers[server].comeBack() }
        }
    }
}
