import StrataRedis

extension KeyspaceInspector {
    /// The error of a command that has found nothing: that the keyspace is not there, if so.
    ///
    /// - Returns: `nil` when the keyspace is there.
    func absence() async throws -> Failure? {
        guard try await !exists() else { return nil }
        let meant = try await lookalikes()
            .map { other in
                let name = "'\(PrintableText.escape(Array(other.name.utf8)))'"
                guard other.prefix != keyspace.prefix else { return name }
                return "\(name) with --prefix '\(PrintableText.escape(Array(other.prefix.utf8)))'"
            }
        let advice =
            meant.isEmpty ? "`stratactl keyspaces` lists them" : "did you mean \(meant.joined(separator: " or "))?"
        return Failure(
            .notFound,
            "there is no keyspace \(RemovalResult.printable(keyspace)) at \(redis.configuration.place); \(advice)"
        )
    }

    /// Ends the command if the keyspace is not there.
    func checkPresence() async throws {
        if let failure = try await absence() { throw failure }
    }
}
