/// Keys that must not be asked for again for a while.
///
/// Remembers at most 4 096 keys.
package final class Pauses<Key: Hashable & Sendable>: Sendable {
    private struct Pause {
        var until: MonotonicInstant
        /// How long the next pause will be, unless the caller gives a duration.
        var step: Duration
        let reason: (any Error)?
    }

    private static var capacity: Int { 4096 }
    private static var longest: Duration { .seconds(3600) }

    private let pauses = Locked<[Key: Pause]>([:])
    private let steps: ClosedRange<Duration>
    private let clock: CacheClock

    /// - Parameters:
    ///   - steps: How long a key's first pause is, and the longest that doubling makes.
    ///   - clock: What pauses are counted by.
    package init(steps: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5), clock: CacheClock = .current) {
        self.steps = steps
        self.clock = clock
    }

    /// How long a key's pause still lasts, and its reason; `nil` when there is none.
    package func left(for key: Key, at now: MonotonicInstant) -> (duration: Duration, reason: (any Error)?)? {
        pauses.withLock { pauses in
            guard let pause = pauses[key], now < pause.until else { return nil }
            return (now.duration(to: pause.until), pause.reason)
        }
    }

    /// Makes a pause: as long as given, up to an hour; else the first step, doubled each time, up to the last.
    package func pause(_ key: Key, for duration: Duration? = nil, because reason: (any Error)? = nil) {
        let now = clock.now
        pauses.withLock { pauses in
            if pauses.count >= Self.capacity { pauses = pauses.filter { now < $0.value.until } }
            let step = pauses[key]?.step ?? steps.lowerBound
            guard pauses[key] != nil || pauses.count < Self.capacity else { return }
            pauses[key] = Pause(
                until: now.advanced(by: min(duration ?? step, Self.longest)),
                step: min(step * 2, steps.upperBound),
                reason: reason
            )
        }
    }

    /// Ends a key's pause.
    package func end(_ key: Key) {
        pauses.withLock { pauses in
            if !pauses.isEmpty { pauses[key] = nil }
        }
    }
}
