import ArgumentParser
import Strata

/// `load ratio`: the hit ratio of the memory level beside other policies and the optimum.
struct RatioLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ratio",
        abstract: "Replays a trace: ask for the key, on a miss put it. Hits in percent of all requests.",
        discussion: """
            A trace has one key a line; .xz is read through xz, - is standard input. The figure for Strata is that of a
            MemoryLevel that is asked by one task; its decisions depend on a random seed, hence --seeds.
            """
    )

    @Option(help: "The file of the trace.")
    var trace: String?
    @Option(help: "A made-up trace instead: \(SyntheticTrace.allCases.map(\.rawValue).joined(separator: ", ")).")
    var synthetic: SyntheticTrace?
    @Option(help: "How many requests a made-up trace has.")
    var requests = 500_000
    @Option(parsing: .upToNextOption, help: "How many entries fit.")
    var capacity: [Int]
    @Option(help: "How many levels replay the trace, each with another seed; their mean counts.")
    var seeds = 3
    @Option(parsing: .upToNextOption, help: "Who replays it: \(RivalPolicy.names).")
    var policies: [RivalPolicy] = [.strata, .lru, .s3fifo, .belady]

    func validate() throws {
        guard (trace == nil) != (synthetic == nil) else { throw ValidationError("one of --trace and --synthetic") }
        guard capacity.allSatisfy({ $0 > 0 }), seeds > 0 else { throw ValidationError("at least one entry and seed") }
    }

    func run() async throws {
        let trace = try trace.map { try Trace(path: $0) } ?? synthetic!.make(requests: requests)
        for capacity in capacity {
            for policy in policies {
                let ratios = try await policy.hitRatios(trace, capacity: capacity, seeds: seeds)
                let mean = ratios.reduce(0, +) / Double(ratios.count)
                let place = "\(trace.name), capacity \(capacity)"
                Measurement(name: "ratio.\(policy.rawValue)", value: mean, unit: "%", comparedTo: place).print()
                guard policy == .strata, seeds > 1, let worst = ratios.min() else { continue }
                Measurement(name: "ratio.strata.worst", value: worst, unit: "%", comparedTo: place).print()
            }
        }
    }
}

extension SyntheticTrace: ExpressibleByArgument {}

/// Who replays a trace.
enum RivalPolicy: String, CaseIterable, ExpressibleByArgument {
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

    case strata
    case lru
    case s3fifo
    case belady
    case sieve
    case arc
    case wtinylfu

    /// The hits in percent, once for each seed where that matters.
    func hitRatios(_ trace: Trace, capacity: Int, seeds: Int) async throws -> [Double] {
        switch self {
        case .strata:
            var ratios: [Double] = []
            for _ in 0..<seeds { ratios.append(try await trace.hitRatioOfMemory(capacity: capacity)) }
            return ratios
        case .lru: return [trace.hitRatio(of: LRU(capacity: capacity, distinct: trace.distinct))]
        case .s3fifo: return [trace.hitRatio(of: S3FIFO(capacity: capacity, distinct: trace.distinct))]
        case .belady: return [Belady.hitRatio(trace, capacity: capacity)]
        case .sieve: return [trace.hitRatio(of: SIEVE(capacity: capacity, distinct: trace.distinct))]
        case .arc: return [trace.hitRatio(of: ARC(capacity: capacity, distinct: trace.distinct))]
        case .wtinylfu: return [trace.hitRatio(of: FixedWindowTinyLFU(capacity: capacity, distinct: trace.distinct))]
        }
    }
}

extension Trace {
    /// Replays the trace against a memory level.
    func hitRatioOfMemory(capacity: Int) async throws -> Double {
        let level = MemoryLevel<UInt32, UInt32>(limit: .entries(capacity))
        var hits = 0
        for key in keys {
            if try await level.get(key) != nil {
                hits += 1
            } else {
                try await level.set(key, for: key)
            }
        }
        return keys.isEmpty ? 0 : 100 * Double(hits) / Double(keys.count)
    }
}
