import ArgumentParser
import FleetSimulation
import Strata

/// `load memory-soak`: a memory level at its limit for a long time, whose size must not grow.
struct MemorySoakLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory-soak",
        abstract: "Tasks read, set, remove, clear and shed at the limit; the process's size must stay flat."
    )

    /// What the allocator may add by itself.
    private static let mostGrowth = 1.1

    @Option(help: "How long, in seconds.")
    var seconds = 60
    @Option(help: "How many tasks.")
    var tasks = 8
    @Option(help: "How many entries fit.")
    var entries = 100_000

    func run() async throws {
        let level = MemoryLevel<String, [UInt8]>(limit: .cost(entries * 200) { $0.count })
        let start = MonotonicInstant.now
        let end = start.advanced(by: .seconds(seconds))
        var sizes: [Double] = []
        var operations = 0
        while MonotonicInstant.now < end {
            let step = min(end, MonotonicInstant.now.advanced(by: .seconds(1)))
            let done = operations
            operations += try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<tasks {
                    group.addTask { try await work(level, seed: UInt64(done + number), until: step) }
                }
                return try await group.reduce(0, +)
            }
            precondition(level.statistics.weight <= level.limit.total, "the limit does not hold")
            if let bytes = ResidentSize.bytes { sizes.append(Double(bytes)) }
        }
        let statistics = level.statistics
        let causes =
            "\(statistics.evictions) evicted, \(statistics.expirations) expired, \(statistics.removals) removed"
        Measurement(name: "memory.soak.operations", value: Double(operations), unit: "1", comparedTo: causes).print()
        guard sizes.count >= 4 else { return }
        let half = sizes.count / 2
        let growth = sizes.suffix(half / 2).max()! / sizes[half / 2..<half].max()!
        Measurement(name: "memory.soak.resident_mib", value: sizes.last! / 1_048_576, unit: "MiB").print()
        Measurement(
            name: "memory.soak.growth",
            value: growth,
            unit: "1",
            comparedTo: "the largest size in the last quarter beside that in the second, of \(seconds) s"
        )
        .print()
        guard growth <= Self.mostGrowth else { throw ExitCode(1) }
    }

    /// One task's share of a step.
    private func work(_ level: MemoryLevel<String, [UInt8]>, seed: UInt64, until end: MonotonicInstant) async throws
        -> Int
    {
        var generator = SplitMix(seed: seed)
        var operations = 0
        while MonotonicInstant.now < end {
            for _ in 0..<256 {
                let key = "key:\(Int(Double(entries * 4) * generator.nextUnit() * generator.nextUnit()))"
                let dice = generator.next() % 100
                if dice < 70 {
                    _ = try await level.get(key)
                } else if dice < 95 {
                    let value = [UInt8](repeating: 1, count: Int.random(in: 50...350, using: &generator))
                    let lifetime = Duration.milliseconds(Int.random(in: 100...20_000, using: &generator))
                    try await level.store(Entry(.value(value), freshUntil: .coarse.advanced(by: lifetime)), for: key)
                } else {
                    try await level.remove(key)
                }
            }
            operations += 256
            if generator.next() % 20_000 == 0 { level.relieve(.moderate) }
            if generator.next() % 100_000 == 0 { try await level.removeAll() }
        }
        return operations
    }
}
