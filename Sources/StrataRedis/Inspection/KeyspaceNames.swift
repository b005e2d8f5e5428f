package import Strata

extension RedisClient {
    /// The keyspaces under a prefix that a walk over the database comes upon before an instant, by name; a thousand at
    /// most.
    ///
    /// For callers that have no time for all of them, such as a shell that completes a word. O(keys of the database) at
    /// the server, in small steps.
    ///
    /// - Parameters:
    ///   - prefix: The prefix.
    ///   - end: When to stop looking.
    /// - Returns: The keyspaces.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func keyspaces(prefix: String, until end: MonotonicInstant) async throws -> [Keyspace] {
        let beginning = Keyspace.component(prefix) + [UInt8(ascii: ":")]
        var seen: Set<ArraySlice<UInt8>> = []
        var found: [Keyspace] = []
        for try await batch in RedisKeyBatches(client: self, prefix: beginning, followedBy: "*:[vlt]:*") {
            for name in batch {
                guard let (base, _) = Keyspace.split(name.bytes) ?? Keyspace.splitMarks(name.bytes),
                    seen.insert(base).inserted, let keyspace = Keyspace(base: base), keyspace.prefix == prefix
                else { continue }
                found.append(keyspace)
            }
            guard found.count < 1000, .now < end else { break }
        }
        return found.sorted { $0.name < $1.name }
    }
}
