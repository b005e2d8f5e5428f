import ArgumentParser
import Strata
import StrataRedis

struct SweepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep",
        abstract: "Removes the entries of a keyspace that tags or clears have voided, and nothing else.",
        discussion: """
            No level serves such entries, and they expire by themselves; a sweep frees their memory sooner. First \
            estimates from a random sample how many there are. Without --yes it ends there, with exit status 2. What \
            was removed before an interruption stays removed.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(help: ArgumentHelp("How many entries to look at first, up to 100000.", valueName: "n"))
    var samples = 1000

    @Option(help: ArgumentHelp("How many entries to check a second, at most.", valueName: "n"))
    var rate = 5000

    @OptionGroup var consent: ConsentOption

    func validate() throws {
        guard (0...100_000).contains(samples) else { throw ValidationError("--samples is not within 0 to 100000") }
        guard (1...1_000_000).contains(rate) else { throw ValidationError("--rate is not within 1 to 1000000") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            var progress = WalkProgress()
            let sample = try await EntrySample.take(inspector, samples: samples) { progress.report($0) }
            if sample.values == 0 { try await inspector.checkPresence() }
            let done = consent.yes ? try await sweep(redis, keyspace) : nil
            try Outcome(keyspace, redis, sample, done).report(in: output.format)
        }
    }

    /// Voidness is a matter of numbers, whatever the form of the values: so any schema number is taken.
    private func sweep(_ redis: RedisClient, _ keyspace: Keyspace) async throws -> SweepProgress {
        let level = RedisLevel<[UInt8], [UInt8]>(
            redis,
            keyspace: keyspace,
            codec: .bytes,
            coherence: .none,
            schema: UInt32.max
        )
        let soFar = Locked<SweepProgress?>(nil)
        Interruption.expect()
        let outcome = await Interruption.heeding {
            var progress = WalkProgress()
            return try await level.sweep(rate: rate) { reached in
                soFar.withLock { $0 = reached }
                progress.report(reached.looked)
            }
        }
        let isWhole = (try? outcome.get()) != nil
        let removed = soFar.withLock { $0?.removed ?? 0 }
        if isWhole || removed > 0 {
            let count = Quantity.text(removed, "entry", "entries")
            let subject = "\(RemovalResult.printable(keyspace)) removed \(count)\(isWhole ? "" : ", not finished")"
            AuditLine.write("sweep", subject, at: await AuditLine.time(of: redis), redis)
        }
        guard isWhole || !Interruption.isWanted else {
            throw Failure(.failed, "the sweep did not finish; run it again for the rest")
        }
        return try outcome.get()
    }

    private struct Outcome: Encodable {
        let keyspace: String
        let endpoint: String
        let values: Int
        let looked: Int
        /// How many of those that were looked at are void.
        let void: Int
        /// `nil` if none was looked at.
        let estimatedVoid: Int?
        let removed: Int?
        let forgottenTags: Int?
        let done: Bool

        init(_ keyspace: Keyspace, _ redis: RedisClient, _ sample: EntrySample, _ progress: SweepProgress?) {
            self.keyspace = keyspace.description
            endpoint = redis.configuration.place
            values = sample.values
            looked = sample.looked
            void = sample.void
            estimatedVoid = sample.estimatedVoid
            removed = progress?.removed
            forgottenTags = progress?.forgottenTags
            done = progress != nil
        }

        func report(in format: OutputOptions.Format) throws {
            let place = "\(PrintableText.escape(Array(keyspace.utf8))) at \(endpoint)"
            switch format {
            case .json: try JSONDocument.print(self)
            case .table, .plain:
                var table = Table(.right("ENTRIES"), .right("LOOKED AT"), .right("VOID"), .right("OF ALL (EST.)"))
                table.rows = [[String(values), String(looked), String(void), estimatedVoid.map(String.init) ?? "-"]]
                StandardOutput.table(table, in: format)
            }
            guard let removed else {
                let about = looked == values ? "" : "about "
                let count =
                    estimatedVoid.map { "\(about)\(Quantity.text($0, "void entry", "void entries"))" }
                    ?? "an unknown number of void entries"
                let plan = "\(count) of \(values)"
                throw Failure(.refused, "nothing was removed; --yes removes \(plan) in \(place)")
            }
            if format == .table {
                StandardOutput.lines(["removed \(Quantity.text(removed, "void entry", "void entries")) in \(place)"])
            }
        }
    }
}
