import ArgumentParser

/// How results are printed.
struct OutputOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table
        case json
    }

    @Option(help: "How results are printed.")
    var format = Format.table
}
