import Strata

/// Reads that want something otherwise than usual, drawn at random.
enum SoakOptions {
    /// Those by which at most one instance at a time may fetch a key.
    static func keepingLeases(_ random: inout some RandomNumberGenerator) -> ReadOptions {
        var options = [
            ReadOptions.fresh, .cached, .stale, .reload, ReadOptions(maximumAge: .seconds(3)),
            ReadOptions(maximumAge: .milliseconds(200)), ReadOptions(skipsReading: [.memory]),
            ReadOptions(skipsFilling: [.memory]),
        ][Int.random(in: 0..<8, using: &random)]
        if Int.random(in: 0..<8, using: &random) == 0 { options.skipsFilling.insert(.memory) }
        return options
    }

    /// All there are, also those that go past Redis.
    static func any(_ random: inout some RandomNumberGenerator) -> ReadOptions {
        var options = keepingLeases(&random)
        func isChosen(_ random: inout some RandomNumberGenerator) -> Bool { Int.random(in: 0..<3, using: &random) == 0 }
        if isChosen(&random) { options.skipsReading.formUnion([.memory, .redis]) }
        if isChosen(&random) { options.skipsReading.insert(.redis) }
        if isChosen(&random) { options.skipsFilling.insert(.redis) }
        if isChosen(&random) { options.maximumAge = .milliseconds(Int.random(in: 1...2_000, using: &random)) }
        return options
    }

    /// What a read did that its options forbid; `nil` for nothing.
    static func breach(_ options: ReadOptions, hasValue: Bool, _ trace: ReadTrace) -> String? {
        let hasFetched = trace.steps.contains { $0.event == .fetched }
        if options.source == .never, hasFetched { return "a read of what is cached has asked the source" }
        guard hasValue else { return nil }
        if options.staleness == .never, trace.state != .fresh { return "a read of fresh values gave one that is not" }
        // The age is measured after the read: what a loaded machine adds to it is no fault of the cache.
        if let longest = options.maximumAge, let age = trace.age,
            age > longest + trace.duration + .milliseconds(250)
        {
            return "a read with a maximum age gave an older value"
        }
        if let origin = trace.origin, options.skipsReading.contains(origin) {
            return "a read gave the value of a level that it was to skip"
        }
        return nil
    }
}
