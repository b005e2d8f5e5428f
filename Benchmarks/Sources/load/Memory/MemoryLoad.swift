import ArgumentParser
import CAllocations
import Strata

/// `load memory`: the memory level beside a bare lock-striped dictionary of the same types.
struct MemoryLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory",
        abstract: "Hits, misses, inserts with eviction, expiry and memory per entry, beside a bare striped dictionary.",
        discussion: """
            Operations of one thread are timed by the processor time of that thread, those of two by the clock on the wall.
            Ratios are the median of rounds in which both sides take turns.
            """
    )

    @Option(help: "Rounds; the median counts.")
    var rounds = 11
    @Option(help: "Operations in each round.")
    var operations = 200_000
    @Option(help: "Entries of the small and of the large level.")
    var small = 1_000
    @Option(help: "Entries of the small and of the large level.")
    var large = 1_000_000
    @Option(parsing: .upToNextOption, help: "What is measured: \(MemoryPart.names).")
    var parts: [MemoryPart] = MemoryPart.allCases.filter { $0 != .inserts }

    func run() async throws {
        strata_return_freed_memory()
        // First, while the process has nothing that was given back and could be used again.
        if parts.contains(.size) { try await measureSize() }
        if parts.contains(.speed) {
            try await measureSpeed(Int.self)
            try await measureSpeed(String.self)
        }
        if parts.contains(.inserts) {
            let trial = try await MemoryTrial<String>(entries: small, operations: operations)
            for _ in 0..<rounds { _ = try await trial.inserts() }
        }
        if parts.contains(.threads) { try await measureThreads() }
        if parts.contains(.levels) {
            try await measureLevels()
            try await measureObserved()
        }
        if parts.contains(.expiry) { try await measureExpiry() }
    }
}

/// What `load memory` can measure.
enum MemoryPart: String, CaseIterable, ExpressibleByArgument {
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

    case size
    case speed
    /// Inserts and nothing else, for a profiler.
    case inserts
    case threads
    case levels
    case expiry
}
