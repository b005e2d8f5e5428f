import Testing

@testable import FleetSimulation

@Suite("Fleets in simulated time")
struct FleetSimulationTests {
    private func run(_ adjust: (inout FleetPlan) -> Void) -> FleetOutcome {
        var plan = FleetPlan()
        (plan.instances, plan.rate, plan.keys, plan.seconds) = (20, 50, 100, 5)
        adjust(&plan)
        return run(plan)
    }

    private func run(_ plan: FleetPlan) -> FleetOutcome {
        var simulation = FleetSimulation(plan, seed: 7) { Int.random(in: 0..<plan.keys, using: &$0) }
        return simulation.run()
    }

    @Test("each key is fetched once by the whole fleet, however small the source's room is", arguments: [1, 100])
    func fetchedOnce(room: Int) {
        let outcome = run { $0.room = room }
        #expect(outcome.sourceCalls == outcome.sourceKeys && outcome.sourceKeys > 90)
        #expect(room > 1 ? outcome.longestLine == 0 : outcome.longestLine > 10)
    }

    @Test("what has expired is fetched once more")
    func expiry() {
        let outcome = run { ($0.freshFor, $0.keys) = (1, 10) }
        #expect((40...60).contains(outcome.sourceCalls))
    }

    @Test(
        "every listener is told of every change; per key only those that have read it",
        arguments: FleetPlan.Tracking.allCases
    )
    func told(tracking: FleetPlan.Tracking) {
        let outcome = run {
            ($0.tracking, $0.writes, $0.warmUp) = (tracking, 100, 1)
            // Most of what is written is read by few.
            ($0.keys, $0.rate) = (10_000, 2)
        }
        let changes = Double(outcome.propagation.count)
        #expect(changes > 300)
        let listeners = Double(outcome.notices) / changes
        #expect(tracking == .broadcast ? listeners > 19 && listeners < 25 : listeners < 5)
    }

    @Test("a server that has more to do than it can takes longer, and works without a pause")
    func overload() {
        func run(command: Double) -> FleetOutcome {
            self.run {
                ($0.rate, $0.keys, $0.warmUp, $0.seconds) = (200, 20_000, 1, 4)
                ($0.costs.command, $0.costs.lease, $0.costs.store) = (command, command, command)
                $0.costs.listener = 0
            }
        }
        let (calm, busy) = (run(command: 5), run(command: 500))
        #expect(calm.load < 0.3)
        #expect(busy.load > 0.8 && busy.load < 1.05, "\(busy.load)")
        let long = FleetOutcome.quantiles([0.9], of: busy.redisReads)[0]
        #expect(long > 100 * FleetOutcome.quantiles([0.9], of: calm.redisReads)[0])
    }

    @Test("more servers share the work of one")
    func servers() {
        let one = run { $0.rate = 500 }
        let four = run { ($0.rate, $0.servers) = (500, 4) }
        #expect(four.commands > one.commands)
        #expect(four.connections == 4 * one.connections)
        #expect(four.load < one.load)
    }

    @Test("an outage: the source is asked by each instance, and once by all when Redis is back")
    func outage() {
        var plan = FleetPlan()
        (plan.instances, plan.rate, plan.keys) = (20, 50, 50)
        plan.outage = .init(begin: 5, seconds: 3)
        (plan.warmUp, plan.seconds) = (5, 8)
        let during = run(plan)
        #expect(during.sourceCalls > 5 * during.sourceKeys && during.commands == 0 && during.connections == 0)
        (plan.warmUp, plan.seconds) = (8, 20)
        #expect(run(plan).connections == 40)
        (plan.warmUp, plan.seconds) = (14, 20)
        let after = run(plan)
        #expect(after.sourceCalls == 0)
        #expect(after.memoryHits > after.reads * 8 / 10)
    }

    @Test("the same seed gives the same fleet")
    func seeds() {
        let (one, other) = (run { $0.writes = 10 }, run { $0.writes = 10 })
        #expect(one.commands == other.commands && one.notices == other.notices && one.processor == other.processor)
    }
}
