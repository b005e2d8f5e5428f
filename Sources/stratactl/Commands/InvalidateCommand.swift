import ArgumentParser
import Strata
import StrataRedis

struct InvalidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invalidate",
        abstract: "Voids all entries of a keyspace that have one of the given tags, in Redis and in every instance.",
        discussion: """
            First estimates from a random sample how many entries have the tags. Without --yes it ends there, with \
            exit status 2. With --yes one script voids them all, whatever their number; nothing is removed. A line on \
            standard error records what was done. Then the instances that run a FleetMember are asked whether they \
            have heard of it, if the user may ask them.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(name: .customLong("tag"), parsing: .singleValue, help: "A tag; may be given several times.")
    var tags: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many entries to look at first, up to 100000. With 0 and --yes the database is not walked over.",
            valueName: "n"
        )
    )
    var samples = 1000

    @Option(help: ArgumentHelp("How long to wait for instances, 0 to 60; with 0 none is asked.", valueName: "seconds"))
    var wait = 2.0

    @OptionGroup var consent: ConsentOption

    func validate() throws {
        guard !tags.isEmpty else { throw ValidationError("--tag is missing") }
        guard (0...60).contains(wait) else { throw ValidationError("--wait is not within 0 to 60") }
        guard (0...100_000).contains(samples) else { throw ValidationError("--samples is not within 0 to 100000") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let tags = try tags.map { try tag($0) }
        try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            var progress = WalkProgress()
            var sample = EntrySample()
            if samples > 0 || !consent.yes {
                sample = try await EntrySample.take(inspector, tags: tags, samples: samples) { progress.report($0) }
            }
            // An unused name must leave nothing behind.
            if sample.values == 0 { try await inspector.checkPresence() }
            var number: UInt64?
            var heard: Acknowledgements?
            if consent.yes {
                let numbers = try await invalidate(tags, inspector)
                number = numbers.max()
                if wait > 0 {
                    heard = try await Acknowledgements.take(of: numbers, redis, keyspace, within: .seconds(1) * wait)
                }
            }
            try Outcome(keyspace, redis, tags, sample, number, heard).report(in: output.format)
            if let remark = heard?.remark { StandardError.line("stratactl: \(remark)") }
        }
    }

    /// Invalidates, and writes down what was done, also where it is not known how much of it was.
    private func invalidate(_ tags: [String], _ inspector: KeyspaceInspector) async throws -> [UInt64] {
        let redis = inspector.redis
        let names = tags.map { "'\(PrintableText.escape(Array($0.utf8)))'" }.joined(separator: " ")
        let subject = "\(RemovalResult.printable(inspector.keyspace)) tags \(names)"
        do {
            let numbers = try await inspector.invalidate(tags: tags)
            AuditLine.write("invalidate", subject, at: numbers.max().map { KeyExplanation.moment(of: $0) } ?? 0, redis)
            return numbers
        } catch {
            let failure = error as? RedisError
            let isRefused = failure?.effect == .notApplied || failure?.serverMessage?.contains("NOPERM") == true
            // One part of a cluster's keyspace says nothing of the others.
            if redis.isCluster || !isRefused {
                let time = await AuditLine.time(of: redis)
                AuditLine.write("invalidate", "\(subject), failed, perhaps done in part", at: time, redis)
            }
            throw error
        }
    }

    private func tag(_ text: String) throws -> String {
        var tag = text
        if space.escaped {
            guard let bytes = PrintableText.unescape(text), let decoded = String(validating: bytes, as: UTF8.self)
            else {
                throw Failure(.usage, "a tag has an invalid backslash escape, or is not UTF-8")
            }
            tag = decoded
        }
        guard tag.utf8.count <= TagLimits.tagLength else {
            throw Failure(.usage, "a tag has more than \(TagLimits.tagLength) bytes")
        }
        return tag
    }

    private struct Outcome: Encodable {
        let keyspace: String
        let endpoint: String
        let tags: [String]
        let values: Int
        let looked: Int
        /// How many of those that were looked at have one of the tags, and are not void.
        let tagged: Int
        /// `nil` if none was looked at.
        let estimatedTagged: Int?
        let number: UInt64?
        let done: Bool
        private let heard: Acknowledgements?

        private enum CodingKeys: CodingKey {
            case keyspace, endpoint, tags, values, looked, tagged, estimatedTagged, number, done, instances
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(keyspace, forKey: .keyspace)
            try members.encode(endpoint, forKey: .endpoint)
            try members.encode(tags, forKey: .tags)
            try members.encode(values, forKey: .values)
            try members.encode(looked, forKey: .looked)
            try members.encode(tagged, forKey: .tagged)
            try members.encodeIfPresent(estimatedTagged, forKey: .estimatedTagged)
            try members.encodeIfPresent(number, forKey: .number)
            try members.encode(done, forKey: .done)
            if let heard { try members.encode(heard.json, forKey: .instances) }
        }

        init(
            _ keyspace: Keyspace,
            _ redis: RedisClient,
            _ tags: [String],
            _ sample: EntrySample,
            _ number: UInt64?,
            _ heard: Acknowledgements?
        ) {
            self.heard = heard
            self.keyspace = keyspace.description
            endpoint = redis.configuration.place
            self.tags = tags
            values = sample.values
            looked = sample.looked
            tagged = sample.tagged
            estimatedTagged = sample.estimatedTagged
            self.number = number
            done = number != nil
        }

        func report(in format: OutputOptions.Format) throws {
            let place = "\(PrintableText.escape(Array(keyspace.utf8))) at \(endpoint)"
            let about = looked == values ? "" : "about "
            let all = values > 0 || estimatedTagged != nil ? " of \(values)" : ""
            let plan =
                estimatedTagged.map { "\(about)\(Quantity.text($0, "entry", "entries"))\(all)" }
                ?? "an unknown number of entries\(all)"
            switch format {
            case .json: try JSONDocument.print(self)
            case .table, .plain:
                var table = Table(.right("ENTRIES"), .right("LOOKED AT"), .right("TAGGED"), .right("OF ALL (EST.)"))
                let estimate = estimatedTagged.map(String.init) ?? "-"
                table.rows = [[String(values), String(looked), String(tagged), estimate]]
                StandardOutput.table(table, in: format)
            }
            guard done else {
                throw Failure(.refused, "nothing was invalidated; --yes voids \(plan) in \(place)")
            }
            if format == .table { StandardOutput.lines(["invalidated \(plan) in \(place)"]) }
            if format != .json { heard?.print(in: format) }
        }
    }
}
