import Strata

extension MemoryLoad {
    /// A hit through compositions and combinators, beside the hit in memory itself.
    func measureLevels() async throws {
        let trial = try await MemoryTrial<String>(entries: small, operations: operations)
        let (memory, keys) = (trial.level, trial.asked)
        if let count = try await LevelTiming.allocations(memory, keys) {
            Measurement(
                name: "memory.hit.allocations",
                value: Double(count) / Double(keys.count),
                unit: "1",
                comparedTo: "\(keys.count) hits"
            )
            .print()
        }
        // A closure level stands in for the shared level below, which a hit does not reach.
        let bottom = ClosureLevel<String, Product>(get: { _ in nil }, set: { _, _ in })
        let composed = memory.compose(bottom)
        try await measure("composed", composed, trial, ratio: true)
        try await measurePerCall(memory.compose(Source.perCall()), trial)
        try await measure("composed3", memory.compose(bottom.compose(ClosureFetcher { _ in nil })), trial, ratio: true)
        try await measure("pooled_composed", composed.pooled(), trial, ratio: true)
        try await measure("any", memory.normalized(), trial, ratio: true)
        try await measure("any_composed", composed.normalized(), trial, ratio: true)
        try await measure("conditioned", memory.conditioned { _ in true }, trial)
        try await measure("switched", switchLevels(memory, memory) { _ in .first }, trial)
        try await measure("capped", memory.capped(8), trial)
        try await measure("pooled", memory.pooled(), trial)
        try await measure("transformed_keys", memory.transformKeys { (key: String) in key }, trial)
        let same = TwoWayTransformer<Product, Product>({ $0 }, inverse: { $0 })
        try await measure("transformed_values", memory.transformValues(same), trial)
        try await measure("post_processed", memory.postProcess { (value: Product) in value }, trial)
        try await measure("retried", memory.retry(), trial)
        try await measure("time_limited", memory.timeout(.seconds(1)), trial)
        try await measure("recovered", memory.recover { _, _ in nil }, trial)
        try await measure("falling_back", memory.recover(with: bottom), trial)
        try await measure("raced", memory.race(bottom), trial)
    }

    /// A hit of a call that brings its source, beside a plain one through the same levels.
    private func measurePerCall(_ level: some SourcedLevel<String, Product>, _ trial: MemoryTrial<String>) async throws
    {
        let value = try await level.require(trial.asked[0])
        if let count = try await LevelTiming.allocations(level, trial.asked, or: value) {
            Measurement(
                name: "memory.hit.per_call.allocations",
                value: Double(count) / Double(trial.asked.count),
                unit: "1",
                comparedTo: "\(trial.asked.count) hits"
            )
            .print()
        }
        var added: [Double] = []
        for _ in 0..<rounds {
            let plain = try await LevelTiming.reads(level, trial.asked)
            added.append(try await LevelTiming.reads(level, trial.asked, or: value) - plain)
        }
        Measurement(
            name: "memory.hit.per_call.added_ns",
            value: added.median,
            unit: "ns",
            comparedTo: "a plain hit through the same levels, same run"
        )
        .print()
    }

    private func measure<Level: CacheLevel<String, Product>>(
        _ name: String,
        _ level: Level,
        _ trial: MemoryTrial<String>,
        ratio: Bool = false
    ) async throws {
        var bare: [Double] = []
        var wrapped: [Double] = []
        for _ in 0..<rounds {
            bare.append(try await LevelTiming.reads(trial.level, trial.asked))
            wrapped.append(try await LevelTiming.reads(level, trial.asked))
        }
        let beside = "the hit in memory, same run"
        if ratio {
            let value = zip(wrapped, bare).map { $0 / $1 }.median
            Measurement(name: "memory.hit.\(name).ratio", value: value, unit: "1", comparedTo: beside).print()
        } else {
            let value = zip(wrapped, bare).map { $0 - $1 }.median
            Measurement(name: "memory.hit.\(name).added_ns", value: value, unit: "ns", comparedTo: beside).print()
        }
    }
}
