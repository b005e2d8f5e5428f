internal import Strata

// A replica may lack what its primary has acknowledged, for as long as the configuration allows. So it is read only
// where the primary does not answer, and what it answers is given to callers and kept by no level: its ticket is void.
extension RedisLevel {
    /// What a replica has of a key whose primary has failed.
    ///
    /// Two round trips at most: the value, and the marks where no link tells of them.
    ///
    /// - Parameters:
    ///   - names: The names of the key.
    ///   - request: The read.
    ///   - error: How the primary has failed.
    /// - Returns: A fresh entry; `nil` if there is none, or none that is near enough to the primary.
    /// - Throws: `CancellationError`.
    func replicaFinding(
        _ names: KeyNames,
        _ request: ReadRequest,
        after error: any Error
    ) async throws -> Finding? {
        guard let changes = shared.changes, request.maySpareReplica, (error as? RedisError)?.isOfAbsence == true,
            let offset = clock(of: names).last
        else { return nil }
        let pending = redis.outage.replay.reach(over: names, keyspace)
        let change = changes.last(of: names.fingerprint)
        guard let bytes = try await redis.replicaValue(of: names.value, since: change),
            var entry = try? entry(of: bytes, names, .void, clockOffset: offset), !pending.covers(entry.tags)
        else { return nil }
        freshness.complete(&entry)
        guard entry.isFresh(at: redis.clock.now), isInTime(entry), try await isValid(entry, names) else { return nil }
        counters.add(\.replicaHits)
        return .entry(entry, bytes: bytes)
    }

    /// Whether no tag, and no clear, has voided an entry of a replica, as far as the keyspace's numbers tell.
    private func isValid(_ entry: Entry<Value>, _ names: KeyNames) async throws -> Bool {
        let tags = shared.tags(of: names.part)
        if let isValid = tags.knows(entry.asOf, entry.tags) { return isValid }
        let wanted = TagName.unique(entry.tags)
        if let read = try await redis.replicaTagNumbers(of: wanted, in: keyspace, names.part) {
            return tags.admits(entry.asOf, wanted, by: read)
        }
        // They lie in another slot, whose primary may answer.
        do {
            return try await tags.admits([(entry.asOf, wanted)], nil, redis) == [true]
        } catch is RedisError {
            return false
        }
    }

    /// The outcomes of a batch, with what replicas have in the place of failures.
    func replacing(_ outcomes: [Outcome], _ names: [KeyNames], _ request: ReadRequest) async -> [Outcome] {
        var outcomes = outcomes
        let places = outcomes.indices.filter { outcomes[$0].failure != nil }
        guard !places.isEmpty else { return outcomes }
        let failed = places.map { (names[$0], outcomes[$0].failure) }
        let found = await CallBudget.together {
            await failed.outcomes { [self] names, error in
                guard let error else { return Finding?.none }
                return try await replicaFinding(names, request, after: error)
            }
        }
        for (place, spare) in zip(places, found) {
            if let finding = try? spare.get() { outcomes[place] = .success(finding) }
        }
        return outcomes
    }
}

extension ReadRequest {
    /// Whether a read may have a value that was changed a moment ago.
    fileprivate var maySpareReplica: Bool {
        purpose == .read && options.staleness != .never && options.source != .always
    }
}

extension RedisError {
    /// Whether the server was not asked, or did not serve.
    fileprivate var isOfAbsence: Bool { code == .circuitOpen || blamesServer }
}

extension RedisConfiguration {
    /// How long a change of a cache may take, from its beginning until it has been made or never is.
    var longestChange: Duration { redisBudget + commandTimeout }
}
