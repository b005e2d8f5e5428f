internal import Strata

/// The server's clock as this process knows it: one TIME now and then, and the monotonic clock in between.
///
/// Absolute times in Redis are the server's, so the wall clocks of instances do not matter. The error is at most half
/// the round trip of the last measurement, plus what the clocks drift apart in twice ten seconds. One whose round trip
/// was longer than a call may take is none: a process that was stopped meanwhile finds the answer when it goes on.
final class ServerClock: Sendable {
    private struct State {
        /// Server time minus monotonic time, in nanoseconds.
        var offset: Int64?
        /// Half the round trip in which it was measured.
        var error: Int64 = 0
        var takenAt = MonotonicInstant.distantPast
        var isMeasuring = false
    }

    /// A client that is kept alive where it is the level's own, and not where it is a node's.
    private enum Reference: Sendable {
        case kept(RedisClient)
        case loose(LooseClient)
    }

    private struct LooseClient: Sendable {
        weak let client: RedisClient?
    }

    private let reference: Reference
    /// How old a reading is when a new one is taken.
    private let validity: Duration
    /// How long calls use a reading while a new one is taken.
    private let longestValidity: Duration
    private let state = Locked(State())

    init(
        _ redis: RedisClient,
        validity: Duration = .seconds(10),
        longestValidity: Duration = .seconds(20),
        keeps: Bool = true
    ) {
        reference = keeps ? .kept(redis) : .loose(LooseClient(client: redis))
        self.validity = validity
        self.longestValidity = longestValidity
    }

    /// The server's client; `nil` when the node has left the cluster.
    var client: RedisClient? {
        switch reference {
        case .kept(let client): client
        case .loose(let loose): loose.client
        }
    }

    /// Server time minus monotonic time, in nanoseconds.
    ///
    /// No round trip while readings are taken regularly; one, for which the call waits, when there was none for twenty
    /// seconds.
    func offset() async throws -> Int64 {
        let now = MonotonicInstant.coarse
        let (known, isDue) = state.withLock { state -> (Int64?, Bool) in
            guard let offset = state.offset, now < state.takenAt.advanced(by: longestValidity) else {
                return (nil, false)
            }
            guard now >= state.takenAt.advanced(by: validity), !state.isMeasuring else { return (offset, false) }
            state.isMeasuring = true
            return (offset, true)
        }
        if isDue { measureAside() }
        if let known { return known }
        return try await measure()
    }

    /// The same by a reading that is not older than that.
    ///
    /// One round trip where there is none.
    func offset(notOlderThan age: Duration) async throws -> Int64 {
        let since = MonotonicInstant.now.advanced(by: .zero - age)
        if let offset = state.withLock({ $0.takenAt >= since ? $0.offset : nil }) { return offset }
        return try await measure()
    }

    /// The offset as it was read last, however long ago; does not ask the server.
    ///
    /// For what a replica answers while the server stands still, which can be asked for no newer one.
    var last: Int64? { state.withLock { $0.offset } }

    /// Whether a reading is being taken in the background.
    var isMeasuring: Bool { state.withLock { $0.isMeasuring } }

    /// The largest error of the offset, without drift, in nanoseconds.
    var error: Int64 { state.withLock { $0.error } }

    /// Takes a new reading and waits for it, because the last one is wrong.
    ///
    /// One round trip.
    func readAnew() async throws { _ = try await measure() }

    private func measure() async throws -> Int64 {
        guard let redis = client else { throw RedisError.shutDown(nil) }
        for _ in 0..<2 {
            let before = MonotonicInstant.now
            let time = try await redis.guarding(.read) { try await redis.time(timeout: $0) }
            if let offset = note(time, askedAt: before, within: redis.configuration.commandTimeout) { return offset }
        }
        let message = "reading the server's clock took longer than a command may take"
        throw RedisError(code: .timeout, message: message, endpoint: redis.configuration.place)
    }

    /// Takes a reading in the background.
    private func measureAside() {
        guard let redis = client else { return state.withLock { $0.isMeasuring = false } }
        let before = MonotonicInstant.now
        let longest = redis.configuration.commandTimeout
        let deadline = before.advanced(by: longest)
        redis.post(deadline: deadline, expecting: .array) { [self] outcome in
            if case .success(let reply) = outcome, let time = RedisClient.time(in: reply) {
                _ = note(time, askedAt: before, within: longest)
            }
            state.withLock { $0.isMeasuring = false }
        } encode: { writer in
            RedisClient.encodeTime(&writer)
        }
    }

    /// - Returns: The offset; `nil` for a reading that has taken too long.
    func note(
        _ time: Duration,
        askedAt before: MonotonicInstant,
        at after: MonotonicInstant = .now,
        within longest: Duration
    ) -> Int64? {
        guard before.duration(to: after) <= longest else { return nil }
        let half = before.nanoseconds(to: after) / 2
        let middle = before.advanced(byNanoseconds: half)
        let offset = middle.nanoseconds(to: MonotonicInstant(nanoseconds: time.saturatedNanoseconds))
        state.withLock { state in
            state.offset = offset
            state.error = half
            state.takenAt = after
        }
        return offset
    }
}

extension MonotonicInstant {
    /// The instant as milliseconds of the server's clock.
    func serverMilliseconds(offset: Int64) -> Int64 {
        guard self != .distantFuture else { return .max }
        return advanced(byNanoseconds: offset).nanoseconds / 1_000_000
    }

    /// The instant at which the server's clock shows `milliseconds`.
    init(serverMilliseconds milliseconds: Int64, offset: Int64) {
        let (nanoseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        guard !overflow else {
            self = milliseconds < 0 ? .distantPast : .distantFuture
            return
        }
        self = MonotonicInstant(nanoseconds: nanoseconds).advanced(byNanoseconds: offset == .min ? .max : -offset)
    }
}
