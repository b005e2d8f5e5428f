import ArgumentParser

/// `load simulate`: what this machine is too small for.
struct SimulateLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Simulates fleets of up to ten thousand instances.",
        subcommands: [SimulateFleet.self, SimulateCurves.self]
    )
}
