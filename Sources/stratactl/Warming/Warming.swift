import Strata
import StrataRedis

/// Has the instances of a keyspace read keys: each key one of them, a few at a time, and no more a second than is
/// allowed.
struct Warming: Sendable {
    /// Keys that are read together, and how often that was tried.
    private struct Batch: Sendable {
        var keys: [[UInt8]]
        var attempts = 0
    }

    private struct State: Sendable {
        var batches: [Batch]
        var tally: WarmTally
        /// When the next batch may be sent.
        var next: MonotonicInstant
        /// Batches that an instance has been asked for, and that may come back.
        var asked = 0
    }

    /// What an instance is to do.
    private enum Turn {
        case ask(Batch, at: MonotonicInstant)
        /// Another instance may leave keys over.
        case wait
        case end
    }

    /// How many keys an instance is asked for at once.
    private static let batchSize = 16
    private static let mostAttempts = 3

    private final class Shared: Sendable {
        let state: Locked<State>

        init(_ state: State) { self.state = Locked(state) }
    }

    private let fleet: FleetInspector
    private let rate: Int
    private let answerTimeout: Duration
    private let shared: Shared

    /// - Parameters:
    ///   - fleet: The instances' keyspace.
    ///   - instances: Those that read.
    ///   - keys: The users' keys.
    ///   - rate: How many a second.
    ///   - answerTimeout: How long to wait for an answer.
    init(
        _ fleet: FleetInspector,
        _ instances: [FleetInstance],
        _ keys: [[UInt8]],
        rate: Int,
        answerTimeout: Duration
    ) {
        self.fleet = fleet
        self.rate = rate
        self.answerTimeout = answerTimeout
        let starts = stride(from: 0, to: keys.count, by: Self.batchSize)
        let batches = starts.map { Batch(keys: Array(keys[$0..<min($0 + Self.batchSize, keys.count)])) }
        shared = Shared(State(batches: batches.reversed(), tally: WarmTally(instances), next: .now))
    }

    /// The outcome so far.
    var tally: WarmTally {
        shared.state.withLock { state in
            var tally = state.tally
            tally.unanswered += state.batches.reduce(0) { $0 + $1.keys.count }
            return tally
        }
    }

    /// Asks instances until every key has its answer, or none is left that answers.
    ///
    /// - Throws: ``RedisError``; `CancellationError`.
    func run(_ instances: [FleetInstance]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for instance in instances { group.addTask { try await self.ask(instance) } }
            try await group.waitForAll()
        }
    }

    private func ask(_ instance: FleetInstance) async throws {
        while true {
            switch turn(of: instance) {
            case .end: return
            case .wait: try await Task.pause(for: .milliseconds(50))
            case .ask(let batch, let instant):
                let answer: FleetInspector.Answer<WarmAnswer>
                do {
                    try await Task.pause(for: MonotonicInstant.now.duration(to: instant))
                    answer = try await fleet.warm(batch.keys, by: instance, within: answerTimeout)
                } catch {
                    giveBack(batch)
                    throw error
                }
                // It may be reading for another request.
                if note(answer, batch, instance) { try await Task.pause(for: .seconds(1)) }
            }
        }
    }

    private func turn(of instance: FleetInstance) -> Turn {
        shared.state.withLock { state in
            guard state.tally.instances[instance.number]?.isAsked == true else { return .end }
            guard let batch = state.batches.popLast() else { return state.asked > 0 ? .wait : .end }
            state.asked += 1
            let instant = max(state.next, .now)
            state.next = instant.advanced(by: .seconds(1) * Double(batch.keys.count) / Double(rate))
            return .ask(batch, at: instant)
        }
    }

    private func giveBack(_ batch: Batch) {
        shared.state.withLock { state in
            state.asked -= 1
            state.batches.append(batch)
        }
    }

    /// Takes an answer down.
    ///
    /// - Returns: Whether the instance was busy.
    private func note(
        _ answer: FleetInspector.Answer<WarmAnswer>,
        _ batch: Batch,
        _ instance: FleetInstance
    ) -> Bool {
        shared.state.withLock { state in
            state.asked -= 1
            var rest = Batch(keys: batch.keys, attempts: batch.attempts + 1)
            switch answer {
            case .content(let content): rest.keys = state.tally.note(content, to: batch.keys, by: instance.number)
            case .none: state.tally.instances[instance.number]?.silences += 1
            case .unusable: state.tally.instances[instance.number]?.isUnusable = true
            }
            guard !rest.keys.isEmpty else { return false }
            // That one reads none says nothing of others.
            if state.tally.instances[instance.number]?.isUnwilling == true { rest.attempts = batch.attempts }
            if rest.attempts < Self.mostAttempts {
                state.batches.insert(rest, at: 0)
            } else {
                state.tally.unanswered += rest.keys.count
            }
            if case .content = answer { return state.tally.instances[instance.number]?.isAsked == true }
            return false
        }
    }
}
