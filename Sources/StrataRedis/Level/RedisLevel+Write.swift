internal import Strata

// A write that was reported as failed must not be applied afterwards, and a write that was sent twice must not be
// applied a second time: another change may have come in between and been acknowledged. So a write bears the server
// time until which it may be applied. A repetition, or the removal in its place, waits until then.
extension RedisLevel {
    /// Seals an entry and writes it.
    ///
    /// - Parameters:
    ///   - entry: The entry to write.
    ///   - names: The names of the key.
    ///   - arrival: Set to the instant until which the write may be applied.
    /// - Throws: ``RedisError``; ``/Strata/CacheError/Code/codec``; `CancellationError`.
    func write(_ entry: Entry<Value>, _ names: KeyNames, _ arrival: inout MonotonicInstant) async throws {
        let sealed = try await seal(entry, names)
        shared.beginWrite(names, sealed.entry.version)
        do {
            try await send(sealed, names, &arrival)
        } catch {
            shared.abandonWrite(names, sealed.entry.version)
            throw error
        }
    }

    /// Sends a write, and once more when it came too late or the connection was lost.
    private func send(_ sealed: Sealed, _ names: KeyNames, _ arrival: inout MonotonicInstant) async throws {
        let limit = Duration.nanoseconds(try redis.outage.limit(CallBudget.current))
        let start = MonotonicInstant.now
        let half = start.advanced(by: limit / 2)
        do {
            if try await attempt(sealed, names, until: half, &arrival) { return }
            // Too early by the known clock: the server's clock was set, or it is another server.
            if .now < half { try await clock(of: names).readAnew() }
        } catch let error as RedisError where error.code == .connectionLost && error.effect == .ambiguous {
            guard arrival < start.advanced(by: limit) else { throw error }
            try await CallBudget.charge {
                try await Task.pause(for: max(.zero, MonotonicInstant.now.duration(to: arrival)))
            }
        }
        guard try await attempt(sealed, names, until: start.advanced(by: limit), &arrival) else {
            throw RedisError(
                code: .timeout,
                message: "the write reached the server after its deadline",
                endpoint: redis.configuration.place
            )
        }
    }

    /// Sends a write that may be applied until an instant.
    ///
    /// One round trip.
    ///
    /// - Returns: Whether it was applied; false when it came too late.
    private func attempt(
        _ sealed: Sealed,
        _ names: KeyNames,
        until end: MonotonicInstant,
        _ arrival: inout MonotonicInstant
    ) async throws -> Bool {
        let clock = clock(of: names)
        let offset = try await clock.offset()
        let error = clock.error + Self.clockDrift
        let limit = end.advanced(byNanoseconds: error).serverMilliseconds(offset: offset)
        arrival = max(arrival, end.advanced(byNanoseconds: 2 * error))
        let reply = try await counting {
            try await redis.guarded(.write, for: names.value) { timeout in
                try await redis.run(
                    LeaseScripts.write,
                    keys: [names.value, names.lease],
                    arguments: [sealed.bytes, sealed.expiry, Array(String(limit).utf8)],
                    repetition: .once,
                    timeout: timeout
                )
            }
        }
        guard let answer = reply.integer, (0...1).contains(answer) else { throw redis.unexpected("write") }
        return answer == 1
    }

    /// How far two clocks may drift apart between two readings, in nanoseconds: 500 ppm in twenty seconds.
    static var clockDrift: Int64 { 10_000_000 }
}
