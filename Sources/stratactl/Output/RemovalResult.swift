import StrataRedis

/// What a removal has done, or would do.
struct RemovalResult: Encodable {
    let keyspace: String
    let endpoint: String
    /// What there was before.
    let values: Int
    let leases: Int
    /// How many values and leases were removed; missing when nothing was done.
    let removed: Int?
    let done: Bool
    let keys: [JSONPresence]?

    init(_ keyspace: Keyspace, _ redis: RedisClient, _ counts: KeyspaceCounts, removed: Int?, keys: [JSONPresence]?) {
        self.keyspace = keyspace.description
        endpoint = redis.configuration.place
        values = counts.values
        leases = counts.leases
        self.removed = removed
        done = removed != nil
        self.keys = keys
    }

    /// Prints the result, and ends the program with the status for it when nothing was done.
    func report(in format: OutputOptions.Format) throws {
        if format == .json { try JSONDocument.print(self) }
        let place = "\(PrintableText.escape(Array(keyspace.utf8))) at \(endpoint)"
        guard let removed else {
            let plan = "\(Quantity.text(values, "value")) and \(Quantity.text(leases, "lease")) of \(place)"
            throw Failure(.refused, "nothing was removed; --yes removes \(plan)")
        }
        if format == .plain { StandardOutput.cells([["removed", String(removed)]]) }
        if format == .table {
            StandardOutput.lines([
                "removed \(Quantity.text(removed, "value or lease", "values and leases")) of \(place)"
            ])
        }
    }

    static func printable(_ keyspace: Keyspace) -> String {
        PrintableText.escape(Array(keyspace.description.utf8))
    }
}

/// A key that is to be removed, in JSON.
struct JSONPresence: Encodable {
    let key: JSONKey
    let value: Bool
    let lease: Bool

    init(_ presence: KeyPresence) {
        key = JSONKey(presence.key)
        value = presence.value
        lease = presence.lease
    }
}
