import StrataRedis

/// An explanation in JSON.
struct JSONExplanation: Encodable {
    let keyspace: String
    let key: JSONKey
    /// `served`, `stale`, `fetched`, `waits` or `failed`.
    let read: String
    let reason: String
    let advice: [String]
    let inRedis: Bool
    /// As `get` has it; missing when nothing is stored.
    let entry: JSONEntry?
    let lease: Lease?
    let failure: LastFailure?
    let tags: [Tag]
    /// The last clear, or the moment when the numbers began; missing where they are lost.
    let cleared: Moment?
    /// What instances have answered about their memory; missing when they were not to be asked.
    let instances: [MemoryFindings.JSON]?
    /// Why they were not asked.
    let instancesRefusal: String?
    /// Milliseconds of the server's clock since 1970.
    let serverTime: Int64

    init(_ found: KeyExplanation, _ verdict: ReadVerdict, _ memory: MemoryFindings?, keyspace: Keyspace) {
        instances = memory?.json
        instancesRefusal = memory?.refusal
        self.keyspace = keyspace.description
        key = JSONKey(found.key)
        read = verdict.outcome.rawValue
        reason = verdict.text
        advice = verdict.advice
        inRedis = found.entry != nil
        entry = found.entry.map { JSONEntry($0, valueLimit: nil) }
        lease = found.lease.flatMap { $0.failure == nil ? Lease($0) : nil }
        failure = found.lease.flatMap { LastFailure($0) }
        tags = found.tags.map { Tag($0, now: found.serverTime) }
        cleared = found.marks.map { Moment(KeyExplanation.moment(of: $0.clear), now: found.serverTime) }
        serverTime = found.serverTime
    }

    struct Lease: Encodable {
        let holder: String?
        let token: String?
        /// Missing for a read that is not traced.
        let trace: String?
        let timeLeft: JSONTimeToLive
        /// Whether a read waits for the holder.
        let isBelieved: Bool

        init(_ lease: LeaseInspection) {
            holder = lease.holder
            token = lease.token.map { Hexadecimal.text($0) }
            trace = lease.trace
            timeLeft = JSONTimeToLive(lease.timeLeft)
            isBelieved = lease.standing == .held
        }
    }

    struct LastFailure: Encodable {
        let message: String
        /// How many fetches in a row have failed.
        let attempts: Int
        /// How long no instance fetches; 0 when one may.
        let backOffSeconds: Double

        init?(_ lease: LeaseInspection) {
            guard let failure = lease.failure else { return nil }
            message = failure.message
            attempts = failure.attempts
            if case .backOff(let left) = lease.standing {
                backOffSeconds = TimeSpan.seconds(left)
            } else {
                backOffSeconds = 0
            }
        }
    }

    struct Tag: Encodable {
        let tag: String
        /// Missing when no invalidation of it is known.
        let invalidated: Moment?
        let voids: Bool

        init(_ tag: KeyExplanation.Tag, now: Int64) {
            self.tag = tag.tag
            invalidated = tag.number == 0 ? nil : Moment(KeyExplanation.moment(of: tag.number), now: now)
            voids = tag.isVoiding
        }
    }
}
