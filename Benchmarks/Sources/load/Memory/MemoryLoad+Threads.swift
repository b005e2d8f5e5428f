import FleetSimulation
import Strata

/// A value without references: threads that read it write nothing in common.
private struct Price: Sendable {
    var amount: Double
    var quantity: Int
    var taxes: (Double, Double)
}

extension MemoryLoad {
    /// One thread, then two, in turns.
    ///
    /// Twice: values that have a reference inside are counted by every reader, so that two threads that read the same
    /// entries write the same lines of memory, whatever the cache does.
    func measureThreads() async throws {
        try await threads("memory.hit.threads2", "memory.bare.threads2") { number in
            Price(amount: Double(number), quantity: number, taxes: (1, 2))
        }
        try await threads("memory.hit.references.threads2", "memory.bare.references.threads2") { Product($0) }
    }

    private func threads<Value: Sendable>(_ name: String, _ bareName: String, _ value: (Int) -> Value) async throws {
        let level = MemoryLevel<String, Value>(limit: .entries(small))
        let bare = StripedDictionary<String, Value>()
        for number in 0..<small {
            try await level.set(value(number), for: String(number: number))
            bare[String(number: number)] = value(number)
        }
        var generator = SplitMix(seed: 42)
        let asked = (0..<operations).map { _ in String(number: .random(in: 0..<small, using: &generator)) }
        var scaling: [Double] = []
        var bareScaling: [Double] = []
        for _ in 0..<rounds {
            let one = try await LevelTiming.rate(level, asked, threads: 1)
            scaling.append(try await LevelTiming.rate(level, asked, threads: 2) / one)
            let bareOne = await LevelTiming.rate(bare: bare, asked, threads: 1)
            bareScaling.append(await LevelTiming.rate(bare: bare, asked, threads: 2) / bareOne)
        }
        report(name, scaling, "one thread")
        report(bareName, bareScaling, "one thread at the bare dictionary")
    }

    private func report(_ name: String, _ scaling: [Double], _ beside: String) {
        let comparedTo = "\(beside); best round \(scaling.max() ?? .nan)"
        Measurement(name: name + ".scaling", value: scaling.median, unit: "1", comparedTo: comparedTo).print()
    }
}
