import ArgumentParser
import FleetSimulation
import Strata

/// `load locks`: what guards reads of a dictionary, and what that costs with one thread and with two.
struct LocksLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "locks",
        abstract:
            "Reads of dictionaries in 16 stripes, and in one, under each candidate for a lock; beside the memory level.",
        discussion: "By the clock on the wall. With two threads all keys are read by both."
    )

    @Option(help: "Rounds; the median counts.")
    var rounds = 9
    @Option(help: "Reads of each thread in a round.")
    var operations = 200_000

    func run() async throws {
        for stripes in [16, 1] {
            try await measure(NoLockCandidate.self, stripes)
            try await measure(PthreadMutexCandidate.self, stripes)
            try await measure(MutexCandidate.self, stripes)
            try await measure(ReadWriteLockCandidate.self, stripes)
            try await measure(SpinLockCandidate.self, stripes)
        }
        let level = MemoryLevel<Int, Int>(limit: .entries(1000))
        for key in 0..<1000 { try await level.set(key, for: key) }
        var generator = SplitMix(seed: 1)
        let keys = (0..<operations).map { _ in Int.random(in: 0..<1000, using: &generator) }
        var rates: [(Double, Double)] = []
        for _ in 0..<rounds {
            let one = try await LevelTiming.rate(level, keys, threads: 1)
            rates.append((one, try await LevelTiming.rate(level, keys, threads: 2)))
        }
        report("memory_level", rates)
    }

    private func measure<Lock: CandidateLock>(_ type: Lock.Type, _ stripes: Int) async throws {
        let table = GuardedDictionary<Lock>(stripes: stripes, entries: 1000)
        var generator = SplitMix(seed: 1)
        let keys = (0..<operations).map { _ in Int.random(in: 0..<1000, using: &generator) }
        var rates: [(Double, Double)] = []
        for _ in 0..<rounds {
            let one = await LevelTiming.rate(threads: 1, operations: keys.count) { table.reads(keys) }
            let two = await LevelTiming.rate(threads: 2, operations: keys.count) { table.reads(keys) }
            rates.append((one, two))
        }
        report("\(Lock.name).stripes\(stripes)", rates)
    }

    private func report(_ name: String, _ rates: [(Double, Double)]) {
        Measurement(name: "locks.\(name).ns", value: rates.map { 1 / $0.0 }.median, unit: "ns").print()
        Measurement(
            name: "locks.\(name).threads2.scaling",
            value: rates.map { $0.1 / $0.0 }.median,
            unit: "1",
            comparedTo: "one thread; best round \(rates.map { $0.1 / $0.0 }.max() ?? .nan)"
        )
        .print()
    }
}

/// Dictionaries behind candidates, filled once and then only read.
///
/// Proof of `Sendable`: nothing is written after `init`.
private final class GuardedDictionary<Lock: CandidateLock>: @unchecked Sendable {
    private let locks: [Lock]
    private var tables: [[Int: Int]]

    init(stripes: Int, entries: Int) {
        locks = (0..<stripes).map { _ in Lock() }
        tables = Array(repeating: [:], count: stripes)
        for key in 0..<entries { tables[key.hashValue & (stripes - 1)][key] = key }
    }

    @inline(never)
    func reads(_ keys: [Int]) {
        var found = 0
        for key in keys {
            let stripe = key.hashValue & (locks.count - 1)
            locks[stripe].lockForReading()
            if tables[stripe][key] != nil { found += 1 }
            locks[stripe].unlock()
        }
        precondition(found == keys.count)
    }
}
