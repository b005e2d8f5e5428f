internal import Strata

/// What a server says of its part in a replication: `INFO replication`.
struct ReplicationAccount: Sendable, Equatable {
    var isPrimary: Bool
    /// The name of the history of writes that its data has come from.
    var history: String
    /// How much of that history it has executed, in bytes.
    var offset: Int64

    init(isPrimary: Bool, history: String, offset: Int64) {
        self.isPrimary = isPrimary
        self.history = history
        self.offset = offset
    }

    /// Reads the answer; `nil` for what is none.
    init?(_ reply: RESPValue) {
        guard let bytes = reply.bytes else { return nil }
        let fields = ServerFields.read(String(decoding: bytes, as: UTF8.self))
        let role = fields["role"]
        guard role == "master" || role == "slave", let name = fields["master_replid"], !name.isEmpty else { return nil }
        isPrimary = role == "master"
        history = name
        guard let offset = fields[isPrimary ? "master_repl_offset" : "slave_repl_offset"].flatMap({ Int64($0) }) else {
            return nil
        }
        self.offset = offset
    }
}

/// What each replica is proved to have.
///
/// A primary that is asked at an instant answers with an offset in its history of writes. Every write that it
/// acknowledged before that instant lies before this offset. A replica that has executed as much of the same history
/// has all of them, and keeps them as long as its process lives, that is, as long as its connection stands: a read over
/// that connection is no older than the instant. So neither a server's clock counts, nor what a replica says of its
/// link.
struct ReplicaLag: Sendable {
    /// What a replica has.
    struct Proof: Sendable, Equatable {
        let primary: RedisEndpoint
        /// Everything that the primary had acknowledged before this instant.
        let includes: MonotonicInstant
        /// The connection to the replica for which that holds: since when it stands.
        let connection: MonotonicInstant
    }

    private struct Sample {
        let askedAt: MonotonicInstant
        let history: String
        let offset: Int64
    }

    /// So many answers of a primary are kept.
    static let mostSamples = 64

    /// How old a proof may be.
    let limit: Duration
    /// In the order in which they were asked for.
    private var samples: [RedisEndpoint: [Sample]] = [:]
    private var proofs: [RedisEndpoint: Proof] = [:]

    init(limit: Duration) { self.limit = limit }

    /// A primary has answered that was asked at an instant; `nil` for no account of a primary that serves.
    mutating func told(byPrimary primary: RedisEndpoint, _ account: ReplicationAccount?, askedAt: MonotonicInstant) {
        // One that is silent may come back and go on. One that is none any more does not vouch for what it said.
        guard let account else { return }
        guard account.isPrimary else {
            samples[primary] = nil
            return
        }
        let oldest = askedAt.advanced(by: .zero - limit)
        var kept = (samples[primary] ?? []).filter { $0.askedAt >= oldest && $0.history == account.history }
        guard kept.last.map({ $0.askedAt < askedAt }) ?? true else { return }
        kept.append(Sample(askedAt: askedAt, history: account.history, offset: account.offset))
        samples[primary] = kept.suffix(Self.mostSamples)
    }

    /// A replica has answered.
    ///
    /// - Parameters:
    ///   - replica: The replica.
    ///   - primary: Whose replica it is in the cluster's map.
    ///   - account: Its answer; `nil` for none.
    ///   - connection: Since when the connection stands over which it was asked and has answered; `nil` when it was
    ///     another.
    mutating func told(
        byReplica replica: RedisEndpoint,
        of primary: RedisEndpoint,
        _ account: ReplicationAccount?,
        over connection: MonotonicInstant?
    ) {
        guard let account, let connection else { return }
        guard !account.isPrimary else {
            proofs[replica] = nil
            return
        }
        let sample = samples[primary]?.last { $0.history == account.history && $0.offset <= account.offset }
        guard let sample else {
            // Of another history than the primary's, or behind all that is known: what it had before may be gone.
            proofs[replica] = nil
            return
        }
        proofs[replica] = Proof(primary: primary, includes: sample.askedAt, connection: connection)
    }

    /// What a replica has, if that is enough.
    ///
    /// - Parameters:
    ///   - replica: The replica.
    ///   - primary: Whose it is to be.
    ///   - now: The time.
    ///   - change: What it has to have in any case: everything from before this instant.
    /// - Returns: The proof; `nil` when it is too old, or is none.
    func proof(
        of replica: RedisEndpoint,
        _ primary: RedisEndpoint,
        at now: MonotonicInstant,
        since change: MonotonicInstant
    ) -> Proof? {
        guard let proof = proofs[replica], proof.primary == primary, proof.includes >= change,
            proof.includes.duration(to: now) <= limit
        else { return nil }
        return proof
    }

    /// Forgets the servers that are in no map any more.
    mutating func keep(_ map: ReplicaMap) {
        let replicas = Set(map.replicas.values.joined())
        samples = samples.filter { map.replicas[$0.key] != nil }
        proofs = proofs.filter { replicas.contains($0.key) }
    }
}
