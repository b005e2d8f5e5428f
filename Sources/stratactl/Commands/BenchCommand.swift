import ArgumentParser
import Strata
import StrataRedis

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how many calls a second the server answers, and how long they take.",
        discussion: """
            For some seconds a number of tasks send PING, and GET of keys that are not there, over one connection, each as \
            fast as the server answers: one of its processors is busy for that long, and other clients wait longer. With \
            --writes, and --yes, also SET and GET of keys of its own, in the keyspace stratactl-bench of the prefix; they \
            are removed at the end, and vanish by themselves within a minute. Ctrl-C ends it at any time.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption

    @Option(help: ArgumentHelp("How long each kind of command is sent, 0.1 to 60.", valueName: "seconds"))
    var seconds = 3.0

    @Option(help: ArgumentHelp("How many tasks send at once, 1 to 256.", valueName: "n"))
    var tasks = 16

    @Option(help: ArgumentHelp("How many bytes a value has, 1 to 1048576.", valueName: "n"))
    var size = 100

    @Option(help: ArgumentHelp("How many keys are used, 1 to 10000.", valueName: "n"))
    var keys = 100

    @Flag(help: "Write keys, too.")
    var writes = false

    @OptionGroup var consent: ConsentOption

    /// After that, keys vanish by themselves.
    private static let lifetime: Duration = .seconds(60)

    func validate() throws {
        guard (0.1...60).contains(seconds) else { throw ValidationError("--seconds is not within 0.1 to 60") }
        guard (1...256).contains(tasks) else { throw ValidationError("--tasks is not within 1 to 256") }
        guard (1...1 << 20).contains(size) else { throw ValidationError("--size is not within 1 to 1048576") }
        guard (1...10_000).contains(keys) else { throw ValidationError("--keys is not within 1 to 10000") }
        guard keys * size <= 64 << 20 else { throw ValidationError("--keys times --size is above 64 MiB") }
    }

    func run() async throws {
        let keyspace = Keyspace("stratactl-bench", prefix: try prefix.resolved(connection))
        let (seconds, tasks, size, writes, isWanted) = (seconds, tasks, size, writes, consent.yes)
        // Of this run alone, so that two at a time do not take each other's keys.
        let run = UInt64.random(in: 0 ... .max)
        let names = (0..<keys).map { InspectedKey(Array("\(run)-\($0)".utf8), in: keyspace).name }
        let report = try await connection.withClient { redis in
            let place = redis.configuration.place
            guard !writes || isWanted else {
                throw Failure(
                    .refused,
                    "nothing was sent; --yes writes \(Quantity.text(names.count, "key")) of "
                        + "\(Quantity.bytes(size)) under \(RemovalResult.printable(keyspace)) at \(place), for "
                        + "\(TimeSpan.text(Self.lifetime)) at most"
                )
            }
            try await redis.ping()
            StandardError.line(
                "stratactl: \(Quantity.text(tasks, "task")) ask \(place) as fast as it answers, for "
                    + "\(TimeSpan.text(seconds: seconds * Double(writes ? 4 : 2)))"
            )
            Interruption.expect()
            var results: [BenchPhase.Result] = []
            let outcome: Result<Void, any Error>
            do {
                for phase in Self.phases(redis, names, size: size, writes: writes) where !Interruption.isWanted {
                    let end = MonotonicInstant.now.advanced(by: .seconds(1) * seconds)
                    results.append(try await phase.run(tasks: tasks, until: end))
                }
                outcome = .success(())
            } catch {
                outcome = .failure(error)
            }
            if writes { try await Self.remove(names, redis) }
            try outcome.get()
            return Report(endpoint: place, tasks: tasks, size: size, keys: names.count, results: results)
        }
        try report.print(in: output.format)
    }

    private static func phases(_ redis: RedisClient, _ names: [RedisKey], size: Int, writes: Bool) -> [BenchPhase] {
        let value = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        let reading = [
            BenchPhase(command: "PING") { try await redis.ping() },
            BenchPhase(command: "GET, no value") { _ = try await redis.get(names[Int.random(in: names.indices)]) },
        ]
        guard writes else { return reading }
        return reading + [
            BenchPhase(command: "SET") {
                try await redis.set(names[Int.random(in: names.indices)], value, expiringIn: lifetime)
            },
            BenchPhase(command: "GET") { _ = try await redis.get(names[Int.random(in: names.indices)]) },
        ]
    }

    private static func remove(_ names: [RedisKey], _ redis: RedisClient) async throws {
        for name in names { _ = try await redis.unlink([name], repeatable: true) }
    }

    private struct Report: Encodable {
        let endpoint: String
        let tasks: Int
        let size: Int
        let keys: Int
        let results: [BenchPhase.Result]

        func print(in format: OutputOptions.Format) throws {
            switch format {
            case .json: try JSONDocument.print(self)
            case .table, .plain:
                var table = Table(
                    .left("COMMAND"),
                    .right("A SECOND"),
                    .right("MEDIAN"),
                    .right("95 %"),
                    .right("99 %"),
                    .right("LONGEST"),
                    .right("CALLS"),
                    .right("FAILED")
                )
                table.rows = results.map { result in
                    let times = [
                        result.medianMicroseconds, result.p95Microseconds, result.p99Microseconds,
                        result.longestMicroseconds,
                    ]
                    return [result.command, String(Int(result.perSecond.rounded()))]
                        + times.map { TimeSpan.text(seconds: $0 / 1_000_000) }
                        + [String(result.calls), String(result.failed)]
                }
                for (number, result) in results.enumerated() where result.failed > 0 { table.tints[number] = .warning }
                StandardOutput.table(table, in: format)
            }
            if let error = results.compactMap(\.error).first { throw Failure(.failed, error) }
        }
    }
}
