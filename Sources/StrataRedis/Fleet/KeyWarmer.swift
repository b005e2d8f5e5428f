internal import Strata

/// Reads keys through a cache on request: one request at a time, and not too many keys a second.
final class KeyWarmer: Sendable {
    /// Reads a key, given as bytes, and returns the outcome.
    typealias Read = @Sendable ([UInt8]) async -> WarmAnswer.Outcome

    /// How many reads run at once.
    private static let concurrency = 8
    /// Keys whose turn has not come by then are not read: the instance that asked waits no longer.
    private static let timeLimit: Duration = .seconds(20)

    private let rate: Int
    private let read: Read
    private let state = Locked((isBusy: false, next: MonotonicInstant.distantPast))

    /// - Parameters:
    ///   - rate: How many keys a second may be read; 0 reads none.
    ///   - read: Reads one.
    init(rate: Int, _ read: @escaping Read) {
        self.rate = rate
        self.read = read
    }

    /// Reads keys, and returns when all have been read.
    func warm(_ keys: [[UInt8]]) async -> WarmAnswer {
        guard rate > 0 else { return WarmAnswer(Array(repeating: .refused, count: keys.count)) }
        let start = MonotonicInstant.now
        // Turns go on from one question to the next, however few keys each of them has.
        let turns: MonotonicInstant? = state.withLock { state in
            guard !state.isBusy else { return nil }
            state.isBusy = true
            return max(start, state.next)
        }
        guard let turns else { return WarmAnswer(Array(repeating: .busy, count: keys.count)) }
        var begun = 0
        defer { state.withLock { [begun] in $0 = (false, turn(begun, from: turns)) } }
        var outcomes = Array(repeating: WarmAnswer.Outcome.busy, count: keys.count)
        await withTaskGroup(of: (Int, WarmAnswer.Outcome).self) { group in
            var running = 0
            for (number, key) in keys.enumerated() {
                if running == Self.concurrency, let (place, outcome) = await group.next() {
                    outcomes[place] = outcome
                    running -= 1
                }
                let due = turn(number, from: turns)
                do { try await Task.pause(for: MonotonicInstant.now.duration(to: due)) } catch { break }
                guard start.duration(to: .now) < Self.timeLimit else { break }
                group.addTask { [read] in (number, await read(key)) }
                running += 1
                begun += 1
            }
            for await (place, outcome) in group { outcomes[place] = outcome }
        }
        return WarmAnswer(outcomes)
    }

    private func turn(_ number: Int, from start: MonotonicInstant) -> MonotonicInstant {
        start.advanced(by: .seconds(1) * Double(number) / Double(rate))
    }
}
