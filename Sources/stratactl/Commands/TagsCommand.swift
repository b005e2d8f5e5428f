import ArgumentParser
import StrataRedis

struct TagsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tags",
        abstract: "Lists the tags of a keyspace that were invalidated, the latest first.",
        discussion: """
            A tag that was never invalidated is known only to the entries that have it: `why` shows it. Of a tag \
            longer than 128 bytes only the hash is kept, shown as \\# and digits. Walks over the tags with HSCAN.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(help: ArgumentHelp("How many tags to list at most, 1 to 100000.", valueName: "n"))
    var limit = 1000

    func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit is not within 1 to 100000") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let (listing, now, absence) = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let listing = try await inspector.tags(limit: limit)
            let now = TimeSpan.milliseconds(try await redis.time())
            return (listing, now, listing.tags.isEmpty ? try await inspector.absence() : nil)
        }
        switch output.format {
        case .table, .plain:
            var table = Table(.right("AGO"), .left("INVALIDATED"), .left("TAG"))
            table.rows = listing.tags.map { tag in
                let moment = Moment(KeyExplanation.moment(of: tag.number), now: now)
                let ago = TimeSpan.text(seconds: max(0, -moment.relativeSeconds))
                return tag.number == .max ? ["-", "damaged", tag.escaped] : [ago, moment.time ?? "-", tag.escaped]
            }
            StandardOutput.table(table, in: output.format)
        case .json:
            try JSONDocument.print(
                JSONListing(
                    keyspace: keyspace.description,
                    tags: listing.tags.map { JSONTag($0, now: now) },
                    count: listing.count,
                    more: listing.count > listing.tags.count
                )
            )
        }
        if listing.count > listing.tags.count {
            StandardError.line("stratactl: there are \(listing.count) tags; --limit sets how many are listed")
        }
        if let absence { throw absence }
    }

    private struct JSONListing: Encodable {
        let keyspace: String
        let tags: [JSONTag]
        let count: Int
        let more: Bool
    }

    private struct JSONTag: Encodable {
        /// Missing for a long tag.
        let tag: JSONBytes?
        /// The tag as it is printed.
        let shown: String
        /// Missing for one that makes no sense.
        let number: UInt64?
        let invalidated: Moment?

        init(_ tag: TagListing.Tag, now: Int64) {
            self.tag = tag.bytes.map { JSONBytes($0) }
            shown = tag.escaped
            number = tag.number == .max ? nil : tag.number
            invalidated = number.map { Moment(KeyExplanation.moment(of: $0), now: now) }
        }
    }
}
