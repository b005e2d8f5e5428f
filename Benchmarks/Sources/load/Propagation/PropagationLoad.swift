import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// `load propagation`: how long it takes until a change made in one process has left the memory of another.
struct PropagationLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "propagation",
        abstract: "The time from before a change is sent until another process' memory has let go of the old value."
    )

    @Option(help: "Changes that are made.")
    var changes = 1_000
    @Option(help: "Listening instances in the second part.")
    var listeners = 100

    /// Instances that share a process in the second part.
    private static let instancesPerProcess = 33

    func run() async throws {
        try await measure("propagation", others: 0)
        try await measure("propagation.listeners\(listeners)", others: listeners - 1)
    }

    private func measure(_ name: String, others: Int) async throws {
        try await RedisServer.withServer { server in
            let redis = try RedisClient(server.url)
            let cache = PropagationInstance.cache(redis, "propagation")
            let heard = cache.lower.changes()
            try await redis.ping()
            for await change in heard where change == .listening { break }
            try await cache.set("value 0", for: PropagationInstance.key)

            let reader = try await start(instances: 1, server)
            var rest: [Member<PropagationOrder, PropagationAnswer>] = []
            for first in stride(from: 0, to: others, by: Self.instancesPerProcess) {
                rest.append(try await start(instances: min(Self.instancesPerProcess, others - first), server))
            }
            let all = [reader] + rest
            var written: [Double] = []
            var removed: [Double] = []
            for number in 1...changes {
                written.append(
                    try await delay(all) { try await cache.set("value \(number)", for: PropagationInstance.key) }
                )
            }
            for number in 1...changes {
                removed.append(try await delay(all) { try await cache.remove(PropagationInstance.key) })
                try await cache.set("value \(number)", for: PropagationInstance.key)
                // The readers are to hear of this before they read again, or they would take this for the removal.
                try await Task.rest(for: .milliseconds(5))
            }
            for member in all { await member.stop() }
            report(name + ".ms", written)
            report(name + ".remove_ms", removed.filter { $0 > 0 })
        }
    }

    private func start(
        instances: Int,
        _ server: RedisServer
    ) async throws -> Member<PropagationOrder, PropagationAnswer> {
        let arguments = ["propagation-instance", "--keyspace", "propagation", "--instances", "\(instances)"]
        let member = try await Member<PropagationOrder, PropagationAnswer>(arguments, url: server.url)
        _ = try await member.answer()
        return member
    }

    /// How many milliseconds pass from before a change is sent until the memory of the last reader has let go.
    private func delay(
        _ readers: [Member<PropagationOrder, PropagationAnswer>],
        _ change: () async throws -> Void
    ) async throws -> Double {
        for reader in readers { try await reader.send(PropagationOrder()) }
        for reader in readers {
            guard case .armed = try await reader.answer() else { throw ValidationError("a reader has nothing to lose") }
        }
        // The readers' threads are to be asleep, as those of a service are between two changes.
        try await Task.rest(for: .milliseconds(1))
        let start = MonotonicInstant.now
        try await change()
        var last = Int64.min
        for reader in readers {
            guard case .seen(let end) = try await reader.answer() else { throw ValidationError("a reader saw nothing") }
            last = max(last, end)
        }
        return Double(last - start.nanoseconds) / 1e6
    }

    private func report(_ name: String, _ delays: [Double]) {
        for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
            Measurement(name: "\(name).\(label)", value: delays.quantile(share), unit: "ms").print()
        }
    }
}
