internal import Logging
internal import Strata

/// Finds the primary by asking Sentinels, for all connections of a client and its link.
///
/// At most ``askers`` of them are asked at a time, and one search serves all who want to connect. When a search finds
/// another server than the one before, every connection to the old one is left: see ``ServerLocator/generation``. A
/// Sentinel that tells of failovers is listened to; what it tells begins a search, for which calls wait a moment.
///
/// Lives on the I/O thread.
final class PrimaryLocator: ServerLocator, LoopDriver {
    /// How many Sentinels are asked at a time.
    static let askers = 8
    /// For how long what was found serves those who come after: connections that were lost together come one by one.
    private static let freshness: Duration = .milliseconds(50)
    /// How long between two searches that Sentinels have caused at the least; doubled with each that has settled
    /// nothing.
    private static let hintInterval: Duration = .milliseconds(100)
    /// How many searches in a row may find the known primary without all Sentinels naming it, until that is believed.
    private static let confirmations = 6

    /// How long nothing is sent to the known primary, or taken from it, because a Sentinel tells of a failover.
    private static let longestDoubt: Duration = .milliseconds(100)
    /// The least time between two of them: a user who may publish at a Sentinel must not hold up calls.
    private static let doubtInterval: Duration = .seconds(1)

    private let configuration: RedisConfiguration
    let sentinels: SentinelOptions
    private let logger: Logger?
    private var running: PrimarySearch?
    private var number: UInt64 = 0
    private var last: (outcome: Result<RedisEndpoint, RedisError>, at: MonotonicInstant, number: UInt64)?
    private var epoch: UInt64 = 0
    private var current: RedisEndpoint?
    /// Whether a Sentinel has said something that makes a search worth it.
    private var isHinted = false
    private var hintedAt = MonotonicInstant.distantPast
    /// Whether the search that runs was begun because of that.
    private var hasCause = false
    /// How many searches in a row have settled nothing of what was said.
    private var unsettled = 0
    /// Whether the search before has found nothing.
    private var wasFailing = false
    /// The Sentinels that are being asked.
    private var busy: Set<Int> = []
    private var lastRemark: String?
    /// Until when the known primary is in doubt, and the search that had begun before that.
    private var doubt: (until: MonotonicInstant, search: UInt64)?
    private var nextDoubt = MonotonicInstant.distantPast

    private(set) var generation: UInt64 = 0
    private(set) var news: UInt64 = 0
    /// The Sentinel that has answered first the last time.
    private(set) var favourite = 0

    /// - Parameters:
    ///   - configuration: The Sentinels.
    ///   - sentinels: The same, taken out.
    ///   - logger: Gets a line when Sentinels disagree.
    init(_ configuration: RedisConfiguration, _ sentinels: SentinelOptions, logger: Logger?) {
        self.configuration = configuration
        self.sentinels = sentinels
        self.logger = logger
    }

    /// What makes a locator for a configuration; `nil` if the server is fixed.
    static func maker(
        _ configuration: RedisConfiguration,
        logger: Logger?
    ) -> (@Sendable (LoopThread) -> any ServerLocator)? {
        switch configuration.topology {
        case .single, .cluster: return nil
        case .sentinel, .auto:
            return { _ in PrimaryLocator(configuration, configuration.places, logger: logger) }
        }
    }

    /// What asks the Sentinels, some at a time.
    func askers(for thread: LoopThread) -> [SentinelAsker] {
        let count = min(Self.askers, sentinels.endpoints.count)
        let dialers = SentinelDialers(configuration, sentinels, thread: thread)
        return (0..<count).map { _ in SentinelAsker(self, configuration, dialers, buffer: thread.buffer) }
    }

    func drivers(for thread: LoopThread) -> [any LoopDriver] {
        let listener = SentinelListener(
            self,
            configuration,
            SentinelDialers(configuration, sentinels, thread: thread),
            buffer: thread.buffer,
            logger: logger
        )
        return [listener] + askers(for: thread) + [self]
    }

    // MARK: ServerLocator

    func search(now: MonotonicInstant) -> UInt64 {
        if running != nil { return number }
        if let last, case .success = last.outcome, now < last.at.advanced(by: Self.freshness) { return number }
        begin()
        return number
    }

    private func begin(isHinted: Bool = false) {
        hasCause = isHinted
        number += 1
        wasFailing = if case .failure = last?.outcome { true } else { false }
        running = PrimarySearch(sentinels.endpoints, favourite: favourite)
    }

    func outcome(of search: UInt64) -> Result<RedisEndpoint, RedisError>? {
        // Another may have begun since: the callers that wait need not wait for that one, too.
        last.flatMap { search <= $0.number ? $0.outcome : nil }
    }

    // MARK: For those who ask

    /// Whether there is a Sentinel to ask.
    var hasQuestion: Bool { running?.queue.isEmpty == false }

    /// The next Sentinel to ask, and for which search; to be released when it has been asked.
    func nextQuestion() -> (sentinel: Int, search: UInt64)? {
        // The search before may not have let it go yet.
        guard let sentinel = running?.queue.first, busy.insert(sentinel).inserted else { return nil }
        running?.queue.removeFirst()
        return (sentinel, number)
    }

    func release(_ sentinel: Int) { busy.remove(sentinel) }

    /// Whether a search still runs.
    func isRunning(_ search: UInt64) -> Bool { running != nil && search == number }

    func answered(_ sentinel: Int, _ search: UInt64, _ answer: SentinelAnswer, now: MonotonicInstant) {
        guard isRunning(search) else { return }
        running?.answered(sentinel, answer, knowing: epoch, now: now)
        conclude(now: now)
    }

    /// Whether the primary was found by Sentinels, which can tell when that changes.
    private(set) var hasSentinels = false

    /// Whether the last search has met nodes of a cluster, and no other server.
    private(set) var hasCluster = false

    var namesPrimaries: Bool { hasSentinels }

    var isInDoubt: Bool { doubt != nil }

    /// A Sentinel tells of a failover.
    ///
    /// The known primary is in doubt until the next search has ended, unless the message names it. It matters to an
    /// instance that stood still together with the old primary: when both go on, the message lies in the socket, and
    /// the old primary would still answer as before.
    func toldOfFailover(to promoted: RedisEndpoint?, now: MonotonicInstant) {
        hinted()
        guard now >= nextDoubt, promoted == nil || promoted != current else { return }
        nextDoubt = now.advanced(by: Self.doubtInterval)
        doubt = (now.advanced(by: Self.longestDoubt), number)
        // The search is what the wait is for.
        hintedAt = .distantPast
    }

    /// A Sentinel tells of a failover, or could not tell of one for a while.
    ///
    /// Sentinels learn of a failover one after the other, and may be slow to answer. So the search is repeated until it
    /// has found another primary, all have named the known one, or enough searches have: a healthy server that is no
    /// longer the primary does not say so itself.
    func hinted() {
        isHinted = true
        unsettled = 0
    }

    private var hintPause: Duration { Self.hintInterval * (1 << min(unsettled, 5)) }

    // MARK: LoopDriver

    var interest: (descriptor: Int32, events: Int16)? { nil }

    var isFinished: Bool { true }

    var nextDeadline: MonotonicInstant {
        let due = running?.deadline ?? (isHinted ? hintedAt.advanced(by: hintPause) : .distantFuture)
        return min(due, doubt?.until ?? .distantFuture)
    }

    func pump(now: MonotonicInstant) {
        if let doubt, now >= doubt.until { self.doubt = nil }
        if running != nil { conclude(now: now) }
        guard isHinted, running == nil, now >= hintedAt.advanced(by: hintPause) else { return }
        isHinted = false
        hintedAt = now
        begin(isHinted: true)
    }

    func handle(events: Int16, now: MonotonicInstant) {}

    private func conclude(now: MonotonicInstant) {
        guard let search = running,
            let verdict = search.verdict(now: now, knowing: epoch, name: configuration.place)
        else { return }
        running = nil
        if let doubt, number > doubt.search { self.doubt = nil }
        favourite = search.first ?? favourite
        hasCluster = search.isCluster
        note(search.disagreement)
        if hasCause { judge(search, verdict) }
        switch verdict {
        case .success(let found):
            // Most name an older primary. They may not have heard of a failover yet, and the one that has did not
            // answer in time.
            if found.epoch < epoch { hinted() }
            epoch = found.epoch
            hasSentinels = !search.isSingle
            let isOther = found.endpoint != current
            current = found.endpoint
            if isOther {
                generation += 1
                doubt = nil
                let hasPassword = configuration.password != nil || configuration.credentials != nil
                if hasPassword { configuration.warn(of: [found.endpoint], logger) }
            }
            // Even where it is the same server: it may accept now what it has refused before.
            if isOther || hasCause || wasFailing { news += 1 }
            last = (.success(found.endpoint), now, number)
        case .failure(let error): last = (.failure(error), now, number)
        }
    }

    /// Has the search repeated that a Sentinel has caused, unless it has settled what the primary is.
    private func judge(_ search: PrimarySearch, _ verdict: Result<PrimarySearch.Found, RedisError>) {
        let isSettled =
            switch verdict {
            case .success(let found):
                found.endpoint != current || search.isSingle || search.isUnanimous(on: found.endpoint)
                    || unsettled >= Self.confirmations
            case .failure: false
            }
        unsettled = isSettled ? 0 : unsettled + 1
        if !isSettled { isHinted = true }
    }

    /// Says once that Sentinels name different primaries.
    private func note(_ remark: String?) {
        defer { lastRemark = remark }
        guard let remark, remark != lastRemark else { return }
        logger?
            .warning(
                "the Sentinels name different primaries",
                metadata: ["redis.endpoint": "\(configuration.place)", "answers": "\(remark)"]
            )
    }
}
