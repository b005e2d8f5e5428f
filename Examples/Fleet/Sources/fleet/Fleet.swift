import ArgumentParser

/// Several instances of a service that share one Redis: the demonstration, and one of its instances.
@main
struct Fleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Shows a fleet that fetches each document once, through memory, Redis and a source.",
        subcommands: [Demonstration.self, Instance.self],
        defaultSubcommand: Demonstration.self
    )
}
