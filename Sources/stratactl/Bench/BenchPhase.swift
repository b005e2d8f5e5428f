import Strata
import StrataRedis

/// One kind of command, sent by many tasks as fast as the server answers.
struct BenchPhase: Sendable {
    /// What a phase has measured.
    struct Result: Encodable, Sendable {
        let command: String
        let calls: Int
        let failed: Int
        let seconds: Double
        let perSecond: Double
        let medianMicroseconds: Double
        let p95Microseconds: Double
        let p99Microseconds: Double
        let longestMicroseconds: Double
        /// The error of the first call that has failed.
        let error: String?
    }

    private struct Part: Sendable {
        var durations: [Int64] = []
        /// Of all, also of those that are not kept.
        var longest: Int64 = 0
        var calls = 0
        var failed = 0
        var error: String?
    }

    /// How many durations each task keeps, of all with the same chance: memory stays small however long it takes.
    private static let kept = 20_000

    let command: String
    /// Sends the command once.
    let call: @Sendable () async throws -> Void

    /// Sends the command by so many tasks until an instant.
    func run(tasks: Int, until end: MonotonicInstant) async throws -> Result {
        let start = MonotonicInstant.now
        let parts = try await withThrowingTaskGroup(of: Part.self) { group in
            for _ in 0..<tasks { group.addTask { try await part(until: end) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let seconds = TimeSpan.seconds(start.duration(to: .now))
        let durations = parts.flatMap(\.durations).sorted()
        func quantile(_ share: Double) -> Double {
            durations.isEmpty ? 0 : Double(durations[Int(share * Double(durations.count - 1))]) / 1000
        }
        let calls = parts.reduce(0) { $0 + $1.calls }
        return Result(
            command: command,
            calls: calls,
            failed: parts.reduce(0) { $0 + $1.failed },
            seconds: seconds,
            perSecond: seconds > 0 ? Double(calls) / seconds : 0,
            medianMicroseconds: quantile(0.5),
            p95Microseconds: quantile(0.95),
            p99Microseconds: quantile(0.99),
            longestMicroseconds: Double(parts.map(\.longest).max() ?? 0) / 1000,
            error: parts.compactMap(\.error).first
        )
    }

    private func part(until end: MonotonicInstant) async throws -> Part {
        var part = Part()
        var now = MonotonicInstant.now
        while now < end, !Interruption.isWanted {
            try Task.checkCancellation()
            let begin = now
            part.calls += 1
            do {
                try await call()
            } catch let error as RedisError {
                part.failed += 1
                if part.error == nil { part.error = error.description }
                // A server that refuses everything is not asked a million times.
                if part.failed >= 10 { return part }
            }
            now = .now
            let duration = begin.nanoseconds(to: now)
            part.longest = max(part.longest, duration)
            if part.durations.count < Self.kept {
                part.durations.append(duration)
            } else {
                let place = Int.random(in: 0..<part.calls)
                if place < Self.kept { part.durations[place] = duration }
            }
        }
        return part
    }
}
