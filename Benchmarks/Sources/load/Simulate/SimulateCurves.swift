import ArgumentParser
import FleetSimulation
import Foundation

/// `load simulate curves`: the pictures of `docs/scale.md`, and the figures that they are drawn from.
struct SimulateCurves: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "curves",
        abstract: "Draws the pictures of docs/scale.md and prints their figures."
    )

    @Argument(help: "The folder for the pictures.")
    var folder: String

    private static let sizes = [10, 30, 100, 300, 1_000, 3_000, 10_000]
    private static let blue = "#218bff"
    private static let green = "#2da44e"
    private static let red = "#e5534b"
    private static let purple = "#a475f9"

    func run() async throws {
        try changes().write(to: folder, as: "scale-changes")
        try starts().write(to: folder, as: "scale-starts")
    }

    /// What it costs a server to tell a fleet of changes.
    private func changes() -> CurvePicture {
        func curve(_ name: String, _ colour: String, _ adjust: (inout FleetPlan) -> Void) -> CurvePicture.Curve {
            let points = Self.sizes.map { size in
                var plan = FleetPlan()
                plan.instances = size
                plan.rate = 10
                plan.writes = 20
                plan.keys = 2_000
                plan.room = .max
                (plan.warmUp, plan.seconds) = (20, 30)
                adjust(&plan)
                let outcome = run(name, plan)
                return (x: Double(size), y: outcome.load)
            }
            return CurvePicture.Curve(name: name, colour: colour, points: points)
        }
        return CurvePicture(
            title: "What it costs a server to tell a fleet of changes",
            description: "The share of a processor that the busiest server needs, over the number of instances.",
            xLabel: "instances",
            yLabel: "one processor of the busiest server",
            xRange: 10...10_000,
            yRange: 0.001...1,
            yTicks: [(0.001, "0.1 %"), (0.01, "1 %"), (0.1, "10 %"), (1, "100 %")],
            curves: [
                curve("broadcast", Self.red) { _ in },
                curve("broadcast, 8 servers", Self.purple) { $0.servers = 8 },
                curve("per key", Self.blue) { $0.tracking = .perKey },
                curve("per key, 8 servers", Self.green) { ($0.tracking, $0.servers) = (.perKey, 8) },
            ]
        )
    }

    /// How long a fleet needs that begins at once, and that has lost Redis.
    private func starts() -> CurvePicture {
        func curve(_ name: String, _ colour: String, servers: Int, isReturn: Bool) -> CurvePicture.Curve {
            let points = Self.sizes.map { size in
                var plan = FleetPlan()
                plan.instances = size
                plan.rate = 20
                plan.servers = servers
                plan.room = 100 * max(1, size / 100)
                plan.seconds = 30
                if isReturn {
                    plan.outage = .init(begin: 30, seconds: 3)
                    (plan.warmUp, plan.seconds) = (33, 63)
                }
                return (x: Double(size), y: run(name, plan).seconds(untilHits: 0.95) ?? 30)
            }
            return CurvePicture.Curve(name: name, colour: colour, points: points)
        }
        return CurvePicture(
            title: "How long a fleet needs until 95 % of its reads wait for no fetch",
            description: "Seconds after a start above an empty Redis, and after Redis came back without data.",
            xLabel: "instances",
            yLabel: "until 95 % of the reads wait for no fetch",
            xRange: 10...10_000,
            yRange: 0.1...30,
            yTicks: [(0.1, "0.1 s"), (1, "1 s"), (10, "10 s"), (30, "30 s")],
            curves: [
                curve("start", Self.blue, servers: 1, isReturn: false),
                curve("start, 8 servers", Self.green, servers: 8, isReturn: false),
                curve("return", Self.red, servers: 1, isReturn: true),
                curve("return, 8 servers", Self.purple, servers: 8, isReturn: true),
            ]
        )
    }

    private func run(_ name: String, _ plan: FleetPlan) -> FleetOutcome {
        var simulation = FleetSimulation(plan, byZipfsLaw: 0.9, seed: 1)
        let outcome = simulation.run()
        let label = "\(name.replacing(", ", with: "_").replacing(" ", with: "_")).\(plan.instances)"
        for (key, value, unit) in outcome.figures(of: plan) {
            Measurement(name: "curves.\(label).\(key)", value: value, unit: unit).print()
        }
        return outcome
    }
}

extension CurvePicture {
    fileprivate func write(to folder: String, as name: String) throws {
        try Data(svg.utf8).write(to: URL(filePath: folder).appending(path: "\(name).svg"))
    }
}
