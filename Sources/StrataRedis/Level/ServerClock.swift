internal import Strata

/// The server's clock as this process can tell it: one TIME now and then, and the monotonic clock in between.
///
/// Absolute times in Redis are the server's, so the wall clocks of instances do not matter. The error is at most half the
/// round trip of the best of the last measurements, plus what the clocks drift apart in ten seconds.
final class ServerClock: Sendable {
    private struct Reading {
        /// Server time minus monotonic time, in nanoseconds.
        var offset: Int64
        var takenAt: MonotonicInstant
    }

    private static let validity: Duration = .seconds(10)

    private let redis: RedisClient
    private let reading = Locked<Reading?>(nil)
    private let flights = Flights<Int, Int64>()

    init(_ redis: RedisClient) {
        self.redis = redis
    }

    /// Server time minus monotonic time, in nanoseconds.
    ///
    /// Mostly no round trip, one each ten seconds.
    func offset() async throws -> Int64 {
        let last = reading.withLock { $0 }
        if let last, MonotonicInstant.coarse < last.takenAt.advanced(by: Self.validity) { return last.offset }
        return try await flights.join(0) { [self] in try await measure() }.output
    }

    private func measure() async throws -> Int64 {
        let before = MonotonicInstant.now
        let time = try await redis.time().saturatedNanoseconds
        let after = MonotonicInstant.now
        let middle = before.nanoseconds + before.nanoseconds(to: after) / 2
        let offset = time - middle
        reading.withLock { $0 = Reading(offset: offset, takenAt: after) }
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
