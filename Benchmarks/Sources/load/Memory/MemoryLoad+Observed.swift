import Metrics
import Strata
import StrataObservability

extension MemoryLoad {
    /// What it costs a hit that it can be observed, that metrics are read meanwhile, and that it is observed.
    func measureObserved() async throws {
        let trial = try await MemoryTrial<String>(entries: small, operations: operations)
        let (memory, keys) = (trial.level, trial.asked)
        let (once, twice) = (Forwarding(base: memory), AskingTwice(base: memory))
        try await report("observed_none", beside: "the same without that look, same run") {
            try await LevelTiming.reads(once, keys)
        } and: {
            try await LevelTiming.reads(twice, keys)
        }
        try await report("metrics", beside: "the hit without metrics, same run") {
            try await LevelTiming.reads(memory, keys)
        } and: {
            let metrics = CacheMetrics(interval: .milliseconds(100), factory: NOOPMetricsHandler.instance)
            try metrics.add(memory, as: "memory")
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await metrics.run() }
                let time = try await LevelTiming.reads(memory, keys)
                group.cancelAll()
                return time
            }
        }
        // The buffer is full from the first hits on, so what follows is counted, and not told.
        try await report("observed", beside: "the hit that nobody observes, same run") {
            try await LevelTiming.reads(memory, keys)
        } and: {
            let events = memory.observe([.hit])
            let time = try await LevelTiming.reads(memory, keys)
            precondition(events.dropped == keys.count - 1024, "\(events.dropped) of \(keys.count) hits were dropped")
            return time
        }
    }

    private func report(
        _ name: String,
        beside neighbour: String,
        _ plain: () async throws -> Double,
        and other: () async throws -> Double
    ) async throws {
        var added: [Double] = []
        for round in 0..<rounds {
            // In turn, so that neither comes always second.
            let first = try await round % 2 == 0 ? plain() : other()
            let second = try await round % 2 == 0 ? other() : plain()
            added.append(round % 2 == 0 ? second - first : first - second)
        }
        Measurement(name: "memory.hit.\(name).added_ns", value: added.median, unit: "ns", comparedTo: neighbour).print()
    }
}
