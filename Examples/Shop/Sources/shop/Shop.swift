import ArgumentParser

/// A catalogue service with a cache, and a show that runs three instances of it.
@main
struct Shop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A catalogue service that caches by Strata.",
        subcommands: [Serve.self, Show.self],
        defaultSubcommand: Show.self
    )
}
