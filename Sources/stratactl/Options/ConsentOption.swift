import ArgumentParser

/// Whether to do what was shown.
struct ConsentOption: ParsableArguments {
    @Flag(help: "Do what was shown.")
    var yes = false
}
