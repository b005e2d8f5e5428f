import ArgumentParser

@main
struct Load: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Load programs that measure Strata; each prints one JSON object a line.",
        subcommands: [Wire.self]
    )
}
