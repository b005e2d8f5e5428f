import ArgumentParser

/// How results are printed.
struct OutputOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table
        /// Rows without a heading, their cells with tabs between them.
        case plain
        case json
    }

    @Option(help: "How results are printed: for people, as tab-separated cells, or as JSON.")
    var format = Format.table
}
