import StrataRedis

/// What `warm` has done, or would do.
struct WarmReport: Encodable {
    private struct Instance: Encodable {
        let name: String
        let keys: Int
        let fetched: Int
        let found: Int
        let absent: Int
        let failed: Int
        /// Whether it has not answered in time.
        let silent: Bool

        init(_ instance: WarmTally.Instance) {
            name = instance.name
            keys = instance.keys
            fetched = instance.count(.fetched)
            found = instance.count(.found)
            absent = instance.count(.absent)
            failed = instance.keys - fetched - found - absent
            silent = instance.silences > 0 || instance.isUnusable
        }
    }

    private struct Failed: Encodable {
        let key: JSONBytes
        let reason: String
    }

    let keyspace: String
    let endpoint: String
    let keys: Int
    let rate: Int
    private let instances: [Instance]
    private let failures: [Failed]
    /// Keys for which no instance has answered.
    let unanswered: Int?
    let done: Bool

    /// How many failed keys have a row for a person.
    private static let mostRows = 20

    init(_ keyspace: Keyspace, _ redis: RedisClient, keys: Int, rate: Int, _ tally: WarmTally, done: Bool) {
        self.keyspace = keyspace.description
        endpoint = redis.configuration.place
        self.keys = keys
        self.rate = rate
        instances = tally.instances.values.sorted { $0.name < $1.name }.map { Instance($0) }
        failures = tally.failures.map { Failed(key: JSONBytes($0.key), reason: $0.outcome) }
        unanswered = done ? tally.unanswered : nil
        self.done = done
        rows = tally.failures.prefix(Self.mostRows).map { [PrintableText.escape($0.key), $0.outcome] }
        self.tally = tally
    }

    private let rows: [[String]]
    private let tally: WarmTally

    private enum CodingKeys: CodingKey {
        case keyspace, endpoint, keys, rate, instances, failures, unanswered, done
    }

    func print(in format: OutputOptions.Format) throws {
        let place = "\(PrintableText.escape(Array(keyspace.utf8))) at \(endpoint)"
        switch format {
        case .json: try JSONDocument.print(self)
        case .table, .plain:
            var table = Table(
                .left("INSTANCE"),
                .right("ANSWERED"),
                .right("FETCHED"),
                .right("FOUND"),
                .right("NO VALUE"),
                .right("FAILED"),
                .left("STATE")
            )
            table.rows = instances.map { instance in
                [InstanceText.printable(instance.name)]
                    + [instance.keys, instance.fetched, instance.found, instance.absent, instance.failed]
                    .map { String($0) }
                    + [instance.silent ? "silent" : "ok"]
            }
            for (number, instance) in instances.enumerated() where done {
                table.tints[number] = instance.silent || instance.failed > 0 ? .warning : .good
            }
            StandardOutput.table(table, in: format)
            if format == .table, !rows.isEmpty {
                var failed = Table(.left("KEY"), .left("NOT READ"))
                failed.rows = rows
                if tally.failed > rows.count { failed.rows.append(["and \(tally.failed - rows.count) more", ""]) }
                StandardOutput.lines([""])
                StandardOutput.table(failed)
            }
        }
        let who = Quantity.text(instances.count, "instance")
        guard done else {
            throw Failure(
                .refused,
                "nothing was read; --yes has \(who) read \(Quantity.text(keys, "key")) of \(place), "
                    + "\(rate) a second, in \(TimeSpan.text(seconds: Double(keys) / Double(rate)))"
            )
        }
        if format == .table {
            StandardOutput.lines(["\(tally.done) of \(Quantity.text(keys, "key")) of \(place) read by \(who)"])
        }
        let unanswered = unanswered ?? 0
        guard tally.failed == 0, unanswered == 0 else {
            let parts = [
                tally.failed > 0 ? "\(tally.failed) have failed" : nil,
                unanswered > 0 ? "no instance has answered for \(unanswered)" : nil,
            ]
            throw Failure(
                .failed,
                "of \(Quantity.text(keys, "key")) \(parts.compactMap { $0 }.joined(separator: ", "))"
            )
        }
    }
}
