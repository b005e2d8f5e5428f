import ArgumentParser
import Strata
import StrataRedis

struct WarmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "warm",
        abstract: "Has running instances read keys through their cache, so that all find the values in Redis.",
        discussion: """
            The keys come from a file, or with - from standard input: one a line, or a JSON array of strings and whole \
            numbers. Each is read by one of the instances that run a FleetMember, which fetches it where no level has \
            it, under its lease and its own limit. Nothing is copied, and no value is seen here. First shows which \
            instances there are; without --yes it ends there, with exit status 2. Ctrl-C ends it, and shows what was \
            read by then. It needs a user for 'inspect'. Status 1 when a key has failed or has no answer.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Argument(help: "The file with the keys; - for standard input.", completion: .file())
    var file: String

    @Flag(help: "Each key is followed by a NUL, as `keys --print0` writes them.")
    var null = false

    @Option(
        help: ArgumentHelp("How many keys to read in a second, by all instances together, 1 to 250.", valueName: "n")
    )
    var rate = 50

    @Option(help: ArgumentHelp("How long to wait for an instance's answer, 1 to 60.", valueName: "seconds"))
    var wait = 30.0

    @Option(help: ArgumentHelp("How many instances to ask at most, 1 to 1000.", valueName: "n"))
    var limit = 100

    @OptionGroup var consent: ConsentOption

    func validate() throws {
        guard (1...250).contains(rate) else { throw ValidationError("--rate is not within 1 to 250") }
        guard (1...60).contains(wait) else { throw ValidationError("--wait is not within 1 to 60") }
        guard (1...1000).contains(limit) else { throw ValidationError("--limit is not within 1 to 1000") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let keys = try KeyFile.read(file, as: null ? .nul : .lines) { text throws(Failure) in
            guard space.escaped else { return text.keyBytes }
            guard let key = InspectedKey(escaped: text, in: keyspace)?.userKey else {
                throw Failure(.usage, "a key has an invalid backslash escape, or is known only by its hash")
            }
            return key
        }
        let (rate, wait, limit, isWanted) = (rate, wait, limit, consent.yes)
        let report = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let fleet = FleetInspector(redis, keyspace)
            let instances = try await fleet.instances(limit: limit).instances.filter { $0.record != nil }
            guard !instances.isEmpty else {
                try await inspector.checkPresence()
                throw Failure(.failed, "no instance is listed that could read: an instance has to run a FleetMember")
            }
            let warming = Warming(fleet, instances, keys, rate: rate, answerTimeout: .seconds(wait))
            guard isWanted else {
                return WarmReport(keyspace, redis, keys: keys.count, rate: rate, WarmTally(instances), done: false)
            }
            Interruption.expect()
            let failure = await Self.warm(warming, instances, keys.count)
            let tally = warming.tally
            let time = await AuditLine.time(of: redis)
            let subject =
                "\(RemovalResult.printable(keyspace)) read \(tally.done) of \(Quantity.text(keys.count, "key")) "
                + "by \(Quantity.text(instances.count, "instance"))"
            AuditLine.write("warm", subject, at: time, redis)
            if let failure { throw failure }
            return WarmReport(keyspace, redis, keys: keys.count, rate: rate, tally, done: true)
        }
        try report.print(in: output.format)
    }

    /// Asks until all is answered, or the person wants the end.
    ///
    /// - Returns: The error with which it has ended.
    private static func warm(_ warming: Warming, _ instances: [FleetInstance], _ count: Int) async -> (any Error)? {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await warming.run(instances) }
                group.addTask { try await Interruption.wait(until: .distantFuture) }
                group.addTask {
                    var progress = WalkProgress()
                    while true {
                        try await Task.pause(for: .milliseconds(500))
                        progress.report("\(warming.tally.done) of \(Quantity.text(count, "key")) read")
                    }
                }
                try await group.next()
                group.cancelAll()
            }
            return nil
        } catch is CancellationError {
            return nil
        } catch {
            return error
        }
    }
}
