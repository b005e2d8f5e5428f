/// Keys that must not be asked for again for a while.
///
/// Remembers at most 4 096 keys. To release a key or an error may run code of the user's: they are let go after the
/// lock.
package final class Pauses<Key: Hashable & Sendable>: Sendable {
    private struct Pause {
        var until: MonotonicInstant
        /// How long the next pause will be, unless the caller gives a duration.
        var step: Duration
        let reason: (any Error)?
    }

    private struct State {
        var pauses: [Key: Pause] = [:]
        /// When those that are over may be looked for again.
        var nextLook = MonotonicInstant.distantPast
    }

    private static var capacity: Int { 4096 }
    private static var longest: Duration { .seconds(3600) }
    /// How rarely all are looked at when there is no room.
    private static var lookInterval: Duration { .milliseconds(100) }

    private let state = Locked(State())
    private let steps: @Sendable () -> ClosedRange<Duration>
    private let clock: CacheClock

    /// - Parameters:
    ///   - steps: How long a key's first pause is, and the longest that doubling makes; asked for each pause.
    ///   - clock: What pauses are counted by.
    package init(
        steps: @autoclosure @escaping @Sendable () -> ClosedRange<Duration> = .milliseconds(100) ... .seconds(5),
        clock: CacheClock = .current
    ) {
        self.steps = steps
        self.clock = clock
    }

    /// How long a key's pause still lasts, and its reason; `nil` when there is none.
    package func left(for key: Key, at now: MonotonicInstant) -> (duration: Duration, reason: (any Error)?)? {
        state.withLock { state in
            guard let pause = state.pauses[key], now < pause.until else { return nil }
            return (now.duration(to: pause.until), pause.reason)
        }
    }

    /// Makes a pause: as long as given, up to an hour; else the first step, doubled each time, up to the last.
    package func pause(_ key: Key, for duration: Duration? = nil, because reason: (any Error)? = nil) {
        let (now, steps) = (clock.now, steps())
        let former = state.withLock { state -> (all: [Key: Pause], own: Pause?) in
            var all: [Key: Pause] = [:]
            if state.pauses.count >= Self.capacity, state.nextLook <= now {
                all = state.pauses
                state.pauses = state.pauses.filter { now < $0.value.until }
                state.nextLook = now.advanced(by: Self.lookInterval)
            }
            let step = min(state.pauses[key]?.step ?? steps.lowerBound, steps.upperBound)
            guard state.pauses[key] != nil || state.pauses.count < Self.capacity else { return (all, nil) }
            let pause = Pause(
                until: now.advanced(by: min(duration ?? step, Self.longest)),
                step: min(step * 2, steps.upperBound),
                reason: reason
            )
            return (all, state.pauses.updateValue(pause, forKey: key))
        }
        withExtendedLifetime(former) {}
    }

    /// Ends a key's pause.
    package func end(_ key: Key) {
        let former = state.withLock { state -> (key: Key, value: Pause)? in
            guard !state.pauses.isEmpty, let place = state.pauses.index(forKey: key) else { return nil }
            return state.pauses.remove(at: place)
        }
        withExtendedLifetime(former) {}
    }

    /// Ends all pauses.
    package func endAll() {
        let former = state.withLock { state in
            defer { state.pauses = [:] }
            return state.pauses
        }
        withExtendedLifetime(former) {}
    }
}
