internal import Strata

/// One search for the primary: which Sentinels to ask, what they have answered, and the verdict.
///
/// A Sentinel that knows a primary is believed; of several, the one with the newest configuration, which a failover
/// numbers. So the others get a moment to answer, too: a Sentinel that was cut off may still name the old primary. An
/// answer that is older than what this client has acted on counts only if most Sentinels give it.
struct PrimarySearch: Sendable {
    /// How long the others may still take when one has named a primary.
    static let gracePeriod: Duration = .milliseconds(50)

    private let sentinels: [RedisEndpoint]
    /// In which order they are asked.
    var queue: ArraySlice<Int>
    private var answers: [Int: SentinelAnswer] = [:]
    /// The one that has named a primary first.
    private(set) var first: Int?
    /// When the answers that have come must suffice.
    private(set) var deadline = MonotonicInstant.distantFuture

    /// - Parameters:
    ///   - sentinels: All of them.
    ///   - favourite: The index of the one to ask first.
    init(_ sentinels: [RedisEndpoint], favourite: Int) {
        self.sentinels = sentinels
        let indices = Array(sentinels.indices)
        queue = (indices[favourite...] + indices[..<favourite])[...]
    }

    /// Takes down an answer.
    ///
    /// - Parameters:
    ///   - sentinel: The index of the one that has answered.
    ///   - answer: What.
    ///   - epoch: The number of the newest configuration that was acted on: an older one ends no wait for the others.
    ///   - now: The time.
    mutating func answered(
        _ sentinel: Int,
        _ answer: SentinelAnswer,
        knowing epoch: UInt64 = 0,
        now: MonotonicInstant
    ) {
        answers[sentinel] = answer
        switch answer {
        case .primary(_, let number) where number < epoch: break
        case .primary, .single, .cluster:
            guard first == nil else { return }
            first = sentinel
            deadline = now.advanced(by: Self.gracePeriod)
        case .unknown, .failed: break
        }
    }

    /// Whether what has answered is no Sentinel but a server.
    var isSingle: Bool { answers.values.contains(.single) }

    /// Whether all have answered, and named this server.
    func isUnanimous(on endpoint: RedisEndpoint) -> Bool {
        answers.count == sentinels.count
            && answers.values.allSatisfy { if case .primary(endpoint, _) = $0 { true } else { false } }
    }

    /// Whether nodes of a cluster have answered, and no other server.
    var isCluster: Bool {
        answers.values.allSatisfy {
            switch $0 {
            case .cluster, .failed: true
            case .primary, .unknown, .single: false
            }
        } && answers.values.contains(.cluster)
    }

    /// What the answers amount to; `nil` while that is open.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - epoch: The number of the newest configuration that was acted on.
    ///   - name: What errors call the primary.
    /// - Returns: The primary, or why none was found.
    func verdict(now: MonotonicInstant, knowing epoch: UInt64, name: String) -> Result<Found, RedisError>? {
        guard answers.count == sentinels.count || now >= deadline else { return nil }
        if isSingle { return single(name) }
        if answers.values.contains(.cluster) { return .failure(cluster(name)) }
        var votes: [Found: Int] = [:]
        for case .primary(let endpoint, let epoch) in answers.values {
            votes[Found(endpoint: endpoint, epoch: epoch), default: 0] += 1
        }
        let current = votes.filter { $0.key.epoch >= epoch || $0.value > sentinels.count / 2 }
        guard let newest = current.keys.map(\.epoch).max() else {
            return .failure(failure(name, isOld: !votes.isEmpty))
        }
        let candidates = current.filter { $0.key.epoch == newest }.sorted { $0.value > $1.value }
        // Two addresses in one configuration: these Sentinels do not watch the same set.
        guard candidates.count == 1 || candidates[0].value > candidates[1].value else {
            return .failure(RedisError(code: .noPrimary, message: "the Sentinels disagree: \(account)", endpoint: name))
        }
        return .success(candidates[0].key)
    }

    /// The primary, as it was found.
    struct Found: Hashable, Sendable {
        var endpoint: RedisEndpoint
        var epoch: UInt64
    }

    private func single(_ name: String) -> Result<Found, RedisError> {
        guard sentinels.count == 1 else {
            let message = "a single server is one of several addresses: \(account)"
            return .failure(RedisError(code: .wrongServer, message: message, endpoint: name))
        }
        return .success(Found(endpoint: sentinels[0], epoch: 0))
    }

    private func cluster(_ name: String) -> RedisError {
        let message =
            isCluster
            ? "a cluster answers there, unlike when the client was made: make a new client, or use topology=cluster"
            : "a node of a cluster is one of several addresses: \(account)"
        return RedisError(code: .wrongServer, message: message, endpoint: name)
    }

    /// Whether the Sentinels that have answered name more than one primary.
    var disagreement: String? {
        var named: Set<RedisEndpoint> = []
        for case .primary(let endpoint, _) in answers.values { named.insert(endpoint) }
        return named.count > 1 ? account : nil
    }

    private func failure(_ name: String, isOld: Bool) -> RedisError {
        let errors = answers.values.compactMap { if case .failed(let error) = $0 { error } else { nil } }
        let areAll = errors.count == sentinels.count
        let code: RedisError.Code =
            if areAll, errors.allSatisfy({ $0.code == .authentication }) {
                .authentication
            } else if areAll, errors.allSatisfy({ $0.code == .wrongServer }) {
                .wrongServer
            } else {
                .noPrimary
            }
        let what = isOld ? "the Sentinels that answer know less than this client" : "no Sentinel names a primary"
        return RedisError(code: code, message: "\(what): \(account)", endpoint: name)
    }

    /// What each has answered, in words.
    private var account: String {
        let shown = sentinels.indices.prefix(8).map { "\(sentinels[$0]) \(Self.words(answers[$0]))" }
        let rest = sentinels.count - shown.count
        return shown.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
    }

    private static func words(_ answer: SentinelAnswer?) -> String {
        switch answer {
        case .primary(let endpoint, let epoch): "names \(endpoint) in configuration \(epoch)"
        case .unknown: "knows no primary of that name"
        case .single: "is a single server"
        case .cluster: "is a node of a cluster"
        case .failed(let error) where error.code == .connectionFailed || error.code == .connectionLost:
            "cannot be asked: \(error.message)"
        case .failed(let error): error.message
        case nil: "has not answered yet"
        }
    }
}
