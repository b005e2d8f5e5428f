/// The keyspaces of a database, found by their keys.
package struct KeyspaceSurvey: Sendable {
    package struct Row: Sendable {
        package let keyspace: Keyspace
        package var counts = KeyspaceCounts()
        /// How many values' lengths were asked for.
        package var sampledValues = 0
        /// The sum of those lengths.
        package var sampledBytes = 0

        /// What Redis takes for them, with their keys; `nil` when it was not asked, or does not tell.
        package var sampledMemory: Int?
        /// For how many keys Redis has told that.
        var sampledNames = 0

        private var meanLength: Double { Double(sampledBytes) / Double(sampledValues) }

        /// What Redis takes for all values, if the sample is like the rest; `nil` without a sample.
        package var estimatedMemory: Int? {
            guard let sampledMemory, sampledNames > 0 else { return nil }
            return Int(exactly: (Double(sampledMemory) / Double(sampledNames) * Double(counts.values)).rounded())
        }

        /// The size of all values in bytes, if the sample is like the rest; `nil` without a sample.
        package var estimatedBytes: Int? {
            sampledValues == 0 ? nil : Int(exactly: (meanLength * Double(counts.values)).rounded())
        }
    }

    /// By prefix, then by name.
    package let rows: [Row]
    /// How many keys of further keyspaces were passed over because there were too many keyspaces.
    package let keysPassedOver: Int

    /// Walks over the database by SCAN, then asks for the lengths of a random sample of each keyspace's values.
    ///
    /// O(keys of the database) at the server, in small steps. Keys that no keyspace would make are passed over.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - prefix: The prefix of the keyspaces; `nil` means any.
    ///   - samples: How many values of each keyspace to look at.
    ///   - limit: Most keyspaces to tell apart.
    ///   - withMemory: Whether Redis is asked what it takes for the values of the sample.
    /// - Returns: What was found.
    /// - Throws: ``RedisError``; `CancellationError`.
    package static func take(
        _ redis: RedisClient,
        prefix: String?,
        samples: Int = 64,
        limit: Int = 10_000,
        withMemory: Bool = false
    ) async throws -> KeyspaceSurvey {
        var tallies: [ArraySlice<UInt8>: Tally] = [:]
        var seen = SeenKeys()
        var passedOver = 0
        for try await batch in names(redis, prefix: prefix) {
            for name in batch where seen.insert(name) {
                guard let (base, kind) = Keyspace.split(name.bytes) else { continue }
                if tallies[base] == nil {
                    guard let keyspace = Keyspace(base: base), prefix == nil || prefix == keyspace.prefix else {
                        continue
                    }
                    guard tallies.count < limit else {
                        passedOver += 1
                        continue
                    }
                    tallies[base] = Tally(row: Row(keyspace: keyspace))
                }
                tallies[base]?.count(name, kind, samples: samples)
            }
        }
        var rows: [Row] = []
        for tally in tallies.values { rows.append(try await tally.measured(by: redis, withMemory: withMemory)) }
        rows.sort { ($0.keyspace.prefix, $0.keyspace.name) < ($1.keyspace.prefix, $1.keyspace.name) }
        return KeyspaceSurvey(rows: rows, keysPassedOver: passedOver)
    }

    private static func names(_ redis: RedisClient, prefix: String?) -> RedisKeyBatches {
        guard let prefix else { return RedisKeyBatches(client: redis, prefix: [], followedBy: "*:*:[vl]:{*}") }
        let beginning = Keyspace.component(prefix) + [UInt8(ascii: ":")]
        return RedisKeyBatches(client: redis, prefix: beginning, followedBy: "*:[vl]:{*}")
    }
}

/// What is known of a keyspace while the scan runs.
private struct Tally {
    var row: KeyspaceSurvey.Row
    private var sample: [RedisKey] = []

    init(row: KeyspaceSurvey.Row) {
        self.row = row
    }

    mutating func count(_ name: RedisKey, _ kind: KeyspaceEntryName.Kind, samples: Int) {
        guard kind == .value else {
            row.counts.leases += 1
            return
        }
        row.counts.values += 1
        // Every value is in the sample with the same chance (algorithm R; Vitter, "Random Sampling with a Reservoir",
        // 1985).
        if sample.count < samples {
            sample.append(name)
        } else if samples > 0 {
            let place = Int.random(in: 0..<row.counts.values)
            if place < samples { sample[place] = name }
        }
    }

    /// The row with the lengths of the sample.
    func measured(by redis: RedisClient, withMemory: Bool) async throws -> KeyspaceSurvey.Row {
        let lengths = try await sample.concurrently { name in
            do {
                return try await redis.length(of: name)
            } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
                return 0
            }
        }
        var row = row
        if withMemory {
            let sizes = try await sample.concurrently { try await redis.memory(of: $0) }
            row.sampledMemory = sizes.contains { $0 != nil } ? sizes.reduce(0) { $0 + ($1 ?? 0) } : nil
            row.sampledNames = sizes.count { $0 != nil }
        }
        // Nothing is measured of what is gone by now. Strings are of half a GiB at most, whatever the server says.
        for length in lengths where length > 0 {
            row.sampledValues += 1
            row.sampledBytes += min(length, 1 << 30)
        }
        return row
    }
}
