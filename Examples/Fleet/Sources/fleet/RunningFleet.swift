import Foundation
import StrataTesting

/// The processes of the demonstration.
final class RunningFleet {
    let instances: [RunningInstance]

    init(count: Int, url: String, folder: String, memoryMilliseconds: Int) async throws {
        let keyspace = "fleet-\(UUID().uuidString.prefix(8))"
        var started: [RunningInstance] = []
        for _ in 0..<count {
            let process = try await InstanceProcess.start(
                try InstanceProcess.builtProduct(named: "fleet"),
                arguments: [
                    "instance", "--folder", folder, "--keyspace", keyspace, "--memory-milliseconds",
                    "\(memoryMilliseconds)",
                ],
                // In the environment, where other users of the machine cannot see a password in it.
                environment: ["STRATA_REDIS_URL": url]
            )
            started.append(RunningInstance(process))
        }
        instances = started
        for instance in instances { try await instance.waitUntilReady() }
    }

    /// Runs the load on every instance at the same time and shows how far it is.
    func run(tasks: Int, requests: Int, rate: Int, seed: UInt64) async throws -> [InstanceReport] {
        for (number, instance) in instances.enumerated() {
            try await instance.send(
                .run(tasks: tasks, requests: requests, rate: rate, seed: seed &+ UInt64(number) &* 1_000)
            )
        }
        let total = instances.count * tasks * requests
        var reports: [InstanceReport] = []
        var done = Array(repeating: 0, count: instances.count)
        var shown = -1
        for number in instances.indices {
            reading: while true {
                switch try await instances[number].answer() {
                case .progress(let count): done[number] = max(done[number], count)
                case .report(let report):
                    done[number] = tasks * requests
                    reports.append(report)
                    break reading
                case .failed(let message): throw DemonstrationError(message: message)
                default: continue
                }
                let percent = done.reduce(0, +) * 100 / total
                if percent / 10 > shown {
                    shown = percent / 10
                    Output.line("Load:      \(percent) % of \(total) requests")
                }
            }
        }
        return reports
    }

    func stop() async {
        for instance in instances { await instance.stop() }
    }
}

/// What went wrong in an instance.
struct DemonstrationError: Error, CustomStringConvertible {
    let message: String

    var description: String { message }
}

/// One process of the demonstration, with its orders and answers.
final class RunningInstance {
    private let process: InstanceProcess
    private var lines: InstanceProcess.Lines.AsyncIterator

    init(_ process: InstanceProcess) {
        self.process = process
        lines = process.lines.makeAsyncIterator()
    }

    func send(_ order: Order) async throws {
        try await process.send(Line.encode(order))
    }

    func answer() async throws -> Answer {
        guard let line = await lines.next() else { throw DemonstrationError(message: "an instance has ended") }
        return try Line.decode(line)
    }

    func waitUntilReady() async throws {
        guard case .ready = try await answer() else { throw DemonstrationError(message: "an instance is not ready") }
    }

    func ask(_ path: String) async throws -> DocumentSummary? {
        try await send(.ask(path: path))
        switch try await answer() {
        case .document(let document): return document
        case .failed(let message): throw DemonstrationError(message: message)
        default: throw DemonstrationError(message: "an instance answered something else")
        }
    }

    func remove(_ path: String) async throws {
        try await send(.remove(path: path))
        guard case .removed = try await answer() else {
            throw DemonstrationError(message: "an instance could not remove a document")
        }
    }

    func stop() async {
        _ = try? await process.stop()
    }
}
