import Strata

extension MemoryLoad {
    /// One thread, then two, in turns.
    func measureThreads() async throws {
        let trial = try await MemoryTrial<String>(entries: small, operations: operations)
        var scaling: [Double] = []
        var bareScaling: [Double] = []
        for _ in 0..<rounds {
            let one = try await LevelTiming.rate(trial.level, trial.asked, threads: 1)
            let two = try await LevelTiming.rate(trial.level, trial.asked, threads: 2)
            scaling.append(two / one)
            let bareOne = await LevelTiming.rate(bare: trial.bare, trial.asked, threads: 1)
            let bareTwo = await LevelTiming.rate(bare: trial.bare, trial.asked, threads: 2)
            bareScaling.append(bareTwo / bareOne)
        }
        Measurement(
            name: "memory.hit.threads2.scaling",
            value: scaling.median,
            unit: "1",
            comparedTo: "one thread; best round \(scaling.max() ?? .nan)"
        )
        .print()
        Measurement(
            name: "memory.bare.threads2.scaling",
            value: bareScaling.median,
            unit: "1",
            comparedTo: "one thread at the bare dictionary; best round \(bareScaling.max() ?? .nan)"
        )
        .print()
    }
}
