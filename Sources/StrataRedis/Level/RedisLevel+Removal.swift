internal import Strata

extension RedisLevel {
    /// Runs a removal; when it fails, it is kept and repeated as soon as Redis is back.
    ///
    /// It has the time of a command, also where the source of another cache calls it, whose budget may be spent.
    ///
    /// - Parameters:
    ///   - targets: What is removed.
    ///   - lifetime: How long what it removes may live.
    ///   - body: The removal.
    /// - Returns: Whether it was carried out; false when it is kept.
    /// - Throws: What `body` throws, unless the failure is an outage, the removal may be deferred, and there was room
    ///   for it.
    @discardableResult
    func removing(
        _ targets: [PendingInvalidations.Target],
        for lifetime: Duration,
        _ body: () async throws -> Void
    ) async throws -> Bool {
        let call = RemovalCall.current
        let isDeferrable = (call?.mode ?? removals) == .deferred
        do {
            try await CallBudget.$current.withValue(nil) { try await body() }
            return true
        } catch {
            let isOfOutage = (error as? RedisError)?.isOfOutage == true
            let rank: PendingInvalidations.Rank = isDeferrable && isOfOutage ? .promised : .removal
            let isKept = redis.keep(targets, rank, for: lifetime, after: error)
            guard rank == .promised, isKept else { throw error }
            call?.isKept()
            return false
        }
    }
}

extension RedisError {
    /// Whether the server, or the way to it, is away for some time.
    ///
    /// What is refused for good, such as a permission or a login, is for a person to mend.
    var isOfOutage: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .timeout, .overloaded, .circuitOpen, .budgetSpent, .noPrimary,
            .tooManyRedirects:
            true
        case .server: isOfReplica || serverCode.map { Self.passing.contains($0) } ?? false
        default: false
        }
    }

    private static let passing: Set<Substring> = [
        "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "READONLY", "MISCONF", "NOREPLICAS",
        "OOM",
    ]
}
