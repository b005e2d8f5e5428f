import Testing

@testable import Strata

extension PendingWritesTests {
    /// A state machine with a clock, and what it has asked for.
    final class Rig {
        var pending: Pending
        var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        var batches: [Pending.Batch] = []
        var admitted: [UInt64] = []
        var refused: [UInt64] = []
        var finished: [(waiter: UInt64, error: (any Error)?)] = []
        var due = MonotonicInstant.distantFuture
        /// What the last step has let go.
        var gone = Pending.Gone()

        init(keysPerCall: Int = .max, _ adjust: (inout WriteBehindOptions) -> Void = { _ in }) {
            var options = WriteBehindOptions(delay: .milliseconds(100), batch: 3, concurrency: 2)
            adjust(&options)
            pending = Pending(options, keysPerCall: keysPerCall)
        }

        func advance(_ time: Duration = .zero) {
            now = now.advanced(by: time)
            let effects = pending.advance(at: now)
            batches += effects.batches
            admitted += effects.admitted
            refused += effects.refused
            finished += effects.finished
            due = effects.due
            gone = effects.gone
        }

        @discardableResult
        func set(_ value: Int, for key: String, cost: Int = 0) -> Bool {
            guard pending.begin(write(value, key, cost)) else { return false }
            pending.commit(key, .late())
            advance()
            return true
        }

        func write(_ value: Int, _ key: String, _ cost: Int = 0) -> Pending.Write {
            Pending.Write(key, Entry(value: value), cost: cost, at: now)
        }

        /// Lets a caller wait for all writes.
        func wait(_ waiter: UInt64) -> Bool { pending.wait(waiter) }

        /// Lets a caller set a value.
        func begin(_ value: Int, _ key: String, _ cost: Int = 0) -> Bool { pending.begin(write(value, key, cost)) }

        /// Lets a caller wait for room.
        func begin(_ value: Int, _ key: String, as caller: UInt64, until: MonotonicInstant) -> Bool {
            pending.begin(write(value, key, 1), as: caller, until: until)
        }

        /// The next batch that was handed out.
        func take() -> Pending.Batch? { batches.isEmpty ? nil : batches.removeFirst() }

        func succeed(_ batch: Pending.Batch) {
            pending.succeeded()
            for write in batch.writes { pending.end(write, of: batch, .written) }
            pending.end(batch)
            advance()
        }

        @discardableResult
        func fail(_ batch: Pending.Batch) -> [Pending.Write] {
            let isLasting = !pending.options.isTransient(Failure())
            let lost = pending.failed(batch.writes, of: batch, Failure(), isLasting: isLasting, at: now)
            for write in lost { pending.end(write, of: batch, .givenUp(Failure())) }
            pending.end(batch)
            advance()
            return lost
        }
    }
}
