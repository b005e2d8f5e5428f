internal import Strata

/// Reads keys through a cache because somebody has asked for it: one question at a time, and not too many keys a second.
final class KeyWarmer: Sendable {
    /// Reads a key, given as bytes, and says what has come of it.
    typealias Read = @Sendable ([UInt8]) async -> WarmAnswer.Outcome

    /// How many reads run at once.
    private static let concurrency = 8
    /// After that, keys whose turn has not come are not read any more: who has asked waits no longer.
    private static let patience: Duration = .seconds(20)

    private let rate: Int
    private let read: Read
    private let isBusy = Locked(false)

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
        let begins = isBusy.withLock { isBusy in
            defer { isBusy = true }
            return !isBusy
        }
        guard begins else { return WarmAnswer(Array(repeating: .busy, count: keys.count)) }
        defer { isBusy.withLock { $0 = false } }
        var outcomes = Array(repeating: WarmAnswer.Outcome.busy, count: keys.count)
        let start = MonotonicInstant.now
        await withTaskGroup(of: (Int, WarmAnswer.Outcome).self) { group in
            var running = 0
            for (number, key) in keys.enumerated() {
                if running == Self.concurrency, let (place, outcome) = await group.next() {
                    outcomes[place] = outcome
                    running -= 1
                }
                let turn = start.advanced(by: .seconds(1) * Double(number) / Double(rate))
                do { try await Task.pause(for: MonotonicInstant.now.duration(to: turn)) } catch { break }
                guard start.duration(to: .now) < Self.patience else { break }
                group.addTask { [read] in (number, await read(key)) }
                running += 1
            }
            for await (place, outcome) in group { outcomes[place] = outcome }
        }
        return WarmAnswer(outcomes)
    }
}
