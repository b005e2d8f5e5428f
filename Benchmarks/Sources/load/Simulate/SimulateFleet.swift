import ArgumentParser
import FleetSimulation
import StrataTesting

/// `load simulate fleet`: one fleet.
struct SimulateFleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "One fleet: what its servers, its source and its callers get to do.",
        discussion: """
            With --away, what happens at the start, while Redis is away and after it came back without data is told, as \
            `load coldstart` does with a real fleet. How far the results can be relied on: docs/scale.md.
            """
    )

    @OptionGroup var options: SimulationOptions
    @Option(help: "Seconds that are counted.")
    var seconds = 10.0
    @Option(help: "Seconds before, in which memory fills.")
    var warmUp = 0.0
    @Option(help: "For how many seconds Redis is away after that; 0 for not at all.")
    var away = 0.0

    func run() async throws {
        var plan = options.plan
        (plan.warmUp, plan.seconds) = (warmUp, warmUp + seconds)
        if away > 0 { plan.outage = .init(begin: plan.seconds, seconds: away) }
        print("simulate", plan)
        guard away > 0 else { return }
        // The same events again; other seconds count.
        (plan.warmUp, plan.seconds) = (plan.seconds, plan.seconds + away)
        print("simulate.away", plan)
        (plan.warmUp, plan.seconds) = (plan.seconds, plan.seconds + seconds)
        print("simulate.return", plan)
    }

    private func print(_ name: String, _ plan: FleetPlan) {
        var simulation = FleetSimulation(plan, byZipfsLaw: options.exponent, seed: options.seed)
        let outcome = simulation.run()
        for (key, value, unit) in outcome.figures(of: plan) {
            Measurement(name: "\(name).\(key)", value: value, unit: unit, comparedTo: nil).print()
        }
    }
}

/// What a fleet is like.
struct SimulationOptions: ParsableArguments {
    @Option(help: "Instances.")
    var instances = 50
    @Option(help: "Reads a second of each instance.")
    var rate = 20.0
    @Option(help: "Sets a second of the whole fleet.")
    var writes = 0.0
    @Option(help: "Keys.")
    var keys = 500
    @Option(help: "The exponent of Zipf's law.")
    var exponent = 0.9
    @Option(help: "How long a value is fresh, in seconds.")
    var fresh = 3_600.0
    @Option(help: "Servers among which the keys are spread.")
    var servers = 1
    @Option(help: "Calls that the source takes at a time.")
    var room = 10
    @Option(help: "How long a call takes, in milliseconds.")
    var fetchMilliseconds = 20.0
    @Option(help: "One way between an instance and a server, in microseconds.")
    var delay = 50.0
    @Option(help: "Of which changes Redis tells: broadcast or per-key.")
    var tracking = "broadcast"
    @Option(help: "What TLS adds to a new connection, in microseconds of the server's processor.")
    var handshake = 0.0
    @Option(help: "Decides what comes by chance.")
    var seed: UInt64 = 1

    func validate() throws {
        guard FleetPlan.Tracking(rawValue: tracking) != nil else {
            throw ValidationError("--tracking is broadcast or per-key")
        }
        guard instances > 0, keys > 0, servers > 0, instances * keys <= 1_000_000_000 else {
            throw ValidationError("--instances times --keys is at most a thousand million")
        }
    }

    var plan: FleetPlan {
        var plan = FleetPlan()
        plan.instances = instances
        plan.rate = rate
        plan.writes = writes
        plan.keys = keys
        plan.freshFor = fresh
        plan.servers = servers
        plan.room = room
        plan.fetch = fetchMilliseconds / 1_000
        plan.delay = delay / 1_000_000
        plan.tracking = FleetPlan.Tracking(rawValue: tracking) ?? .broadcast
        plan.costs.handshake = handshake
        return plan
    }
}

extension FleetOutcome {
    /// What is told of an outcome: name, value and unit.
    func figures(of plan: FleetPlan) -> [(String, Double, String)] {
        let reads = Double(max(reads, 1))
        let redis = Self.quantiles([0.5, 0.99], of: redisReads)
        let told = Self.quantiles([0.5, 0.99], of: propagation)
        return [
            ("reads", Double(self.reads), "1"),
            ("memory_hits.ratio", Double(memoryHits) / reads, "1"),
            ("source_calls.ratio", Double(sourceCalls) / Double(max(sourceKeys, 1)), "1"),
            ("source_line.most", Double(longestLine), "1"),
            ("hits95_s", seconds(untilHits: 0.95) ?? -1, "s"),
            ("commands", Double(commands), "1"),
            ("notices", Double(notices), "1"),
            ("server_cpu_s", processor.max() ?? 0, "s"),
            ("server_load", load, "1"),
            ("connections.per_instance", Double(connections) / Double(plan.instances), "1"),
            ("connections.most_per_second", Double(connectionsInWorstSecond), "1/s"),
            ("redis_read.p50_us", redis[0] * 1e6, "µs"),
            ("redis_read.p99_us", redis[1] * 1e6, "µs"),
            ("propagation.p50_us", told[0] * 1e6, "µs"),
            ("propagation.p99_us", told[1] * 1e6, "µs"),
        ]
    }
}

extension FleetSimulation {
    /// A simulation in which keys are read and set by Zipf's law.
    init(_ plan: FleetPlan, byZipfsLaw exponent: Double, seed: UInt64) {
        let zipf = ZipfDistribution(count: plan.keys, exponent: exponent)
        self.init(plan, seed: seed) { zipf.next(using: &$0) }
    }
}
