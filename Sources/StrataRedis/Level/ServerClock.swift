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

    /// After how long a reading is taken anew, by one of those who want to know.
    private static let validity: Duration = .seconds(10)
    /// How long the others may go on with the reading that they have.
    private static let longestValidity: Duration = .seconds(20)

    private let redis: RedisClient
    private let state = Locked(State())

    init(_ redis: RedisClient) {
        self.redis = redis
    }

    /// Server time minus monotonic time, in nanoseconds.
    ///
    /// Mostly no round trip, one each ten seconds. Everybody asks for himself who cannot do without: each call has a deadline
    /// of its own.
    func offset() async throws -> Int64 {
        let now = MonotonicInstant.coarse
        let known = state.withLock { state -> Int64? in
            guard let offset = state.offset, now < state.takenAt.advanced(by: Self.longestValidity) else { return nil }
            if now < state.takenAt.advanced(by: Self.validity) || state.isMeasuring { return offset }
            state.isMeasuring = true
            return nil
        }
        if let known { return known }
        defer { state.withLock { $0.isMeasuring = false } }
        return try await measure()
    }

    /// By how much the offset may be wrong at most, besides drift, in nanoseconds.
    var error: Int64 { state.withLock { $0.error } }

    private func measure() async throws -> Int64 {
        let before = MonotonicInstant.now
        let time = try await redis.guarded(.read) { try await redis.time(timeout: $0) }.saturatedNanoseconds
        let after = MonotonicInstant.now
        let middle = before.nanoseconds + before.nanoseconds(to: after) / 2
        let offset = time - middle
        state.withLock { state in
            state.offset = offset
            state.error = before.nanoseconds(to: after) / 2
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
