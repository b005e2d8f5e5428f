internal import Strata

extension RedisClient {
    /// Whether replicas may be read.
    var readsReplicas: Bool { cluster?.replicas != nil }

    /// The value of a key as a replica has it.
    ///
    /// One round trip, while the breaker of the replica is closed and the call's budget lasts; another one for each
    /// replica that fails.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - change: What the replica has to have: everything that the primary had acknowledged before this instant.
    /// - Returns: The value; `nil` for none, and when no replica is known to be near enough to the primary.
    /// - Throws: `CancellationError`.
    func replicaValue(of key: RedisKey, since change: MonotonicInstant) async throws -> [UInt8]? {
        let reply = try await readReplica(of: key, since: change, expecting: .value) { writer in
            writer.begin(2)
            writer.argument("GET" as StaticString)
            writer.argument(key)
        }
        return reply?.bytes
    }

    /// The marks of a keyspace and numbers of tags, as a replica has them; `nil` as for a value.
    func replicaTagNumbers(
        of names: [TagName],
        in keyspace: Keyspace,
        _ part: KeyspacePart?
    ) async throws -> TagNumbers? {
        let marks = RedisKey(keyspace.marks(of: part))
        // What this instance knows of invalidations shows in the numbers.
        return try await readReplica(of: marks, since: .distantPast, expecting: .list) {
            Self.encodeTagNumbers(names, marks, &$0)
        }
        .flatMap { Self.tagNumbers(names, in: $0) }
    }

    private func readReplica(
        of key: RedisKey,
        since change: MonotonicInstant,
        expecting expected: ReplyKinds,
        encode: (inout CommandWriter) -> Void
    ) async throws -> RESPValue? {
        for replica in cluster?.replicas(of: HashSlot.of(key), since: change) ?? [] {
            do {
                let reply = try await replica.client.guarding(.read) { timeout in
                    let deadline = MonotonicInstant.coarse.advanced(by: timeout)
                    let reply = try await replica.connection.call(
                        deadline: deadline,
                        expecting: expected,
                        encode: encode
                    )
                    // It loads its data, has lost the slot, or is none any more.
                    if case .error(let text) = reply {
                        throw RedisError.reply(text, endpoint: replica.client.configuration.place)
                    }
                    return reply
                }
                // The answer of another process, to which the connection has led meanwhile, may be older.
                guard replica.stands else { continue }
                if case .oversized = reply { continue }
                return reply
            } catch is RedisError {
                continue
            }
        }
        return nil
    }
}
