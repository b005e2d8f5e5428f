internal import Strata

/// The server's clock as this process can tell it: one TIME now and then, and the monotonic clock in between.
///
/// Absolute times in Redis are the server's, so the wall clocks of instances do not matter. The error is at most half the
/// round trip of the last measurement, plus what the clocks drift apart in twice ten seconds.
final class ServerClock: Sendable {
    private struct State {
        /// Server time minus monotonic time, in nanoseconds.
        var offset: Int64?
        /// Half the round trip in which it was measured.
        var error: Int64 = 0
        var takenAt = MonotonicInstant.distantPast
        var isMeasuring = false
    }

    /// How long everybody goes on with a reading while a new one is taken.
    private static let longestValidity: Duration = .seconds(20)

    /// A client that is kept alive where it is the one of the level, and not where it is a node's.
    private enum Reference: Sendable {
        case kept(RedisClient)
        case loose(LooseClient)
    }

    private struct LooseClient: Sendable {
        weak let client: RedisClient?
    }

    private let reference: Reference
    /// After how long a reading is taken anew.
    private let validity: Duration
    private let state = Locked(State())

    init(_ redis: RedisClient, validity: Duration = .seconds(10), keeps: Bool = true) {
        reference = keeps ? .kept(redis) : .loose(LooseClient(client: redis))
        self.validity = validity
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
    /// No round trip while a reading is taken every now and then; one when there is none for twenty seconds, to be waited for.
    func offset() async throws -> Int64 {
        let now = MonotonicInstant.coarse
        let (known, isDue) = state.withLock { state -> (Int64?, Bool) in
            guard let offset = state.offset, now < state.takenAt.advanced(by: Self.longestValidity) else {
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

    /// Whether a reading is being taken that nobody waits for.
    var isMeasuring: Bool { state.withLock { $0.isMeasuring } }

    /// By how much the offset may be wrong at most, besides drift, in nanoseconds.
    var error: Int64 { state.withLock { $0.error } }

    /// Takes a new reading and waits for it: the one there is has been found to be wrong.
    ///
    /// One round trip.
    func readAnew() async throws { _ = try await measure() }

    private func measure() async throws -> Int64 {
        guard let redis = client else { throw RedisError.shutDown(nil) }
        let before = MonotonicInstant.now
        let time = try await redis.guarding(.read) { try await redis.time(timeout: $0) }
        return note(time, askedAt: before)
    }

    /// Takes a reading that nobody waits for.
    private func measureAside() {
        guard let redis = client else { return state.withLock { $0.isMeasuring = false } }
        let before = MonotonicInstant.now
        let deadline = before.advanced(by: redis.configuration.commandTimeout)
        redis.post(deadline: deadline, expecting: .array) { [self] outcome in
            if case .success(let reply) = outcome, let time = RedisClient.time(in: reply) {
                note(time, askedAt: before)
            }
            state.withLock { $0.isMeasuring = false }
        } encode: { writer in
            RedisClient.encodeTime(&writer)
        }
    }

    @discardableResult
    private func note(_ time: Duration, askedAt before: MonotonicInstant) -> Int64 {
        let after = MonotonicInstant.now
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
