extension PendingWrites {
    /// How exactly the time is kept at which a write is given up.
    private static var lookInterval: Duration { .seconds(1) }
    /// How long a call of the source that was cancelled keeps its place among those that may run at once.
    ///
    /// That time also covers the questions to the cache before and after the call.
    private static var grace: Duration { .seconds(3) }

    /// What to do now.
    ///
    /// O(1) for each write that is handed out; O(n) once a second while there are any.
    mutating func advance(at now: MonotonicInstant) -> Effects {
        var effects = Effects()
        if let lost = takeLost(at: now) { effects.batches.append(lost) }
        endRests(at: now)
        endHanging(at: now)
        while let batch = takeBatch(at: now) { effects.batches.append(batch) }
        admitCallers(at: now, &effects)
        effects.finished = waiters.takeFinished()
        effects.due = nextDue(at: now)
        swap(&effects.gone, &gone)
        return effects
    }

    // MARK: What may be written

    private mutating func takeBatch(at now: MonotonicInstant) -> Batch? {
        guard batches.count < mostBatches, pausedUntil <= now, let first = firstInLine(), isDue(first, at: now) else {
            return nil
        }
        var batch = Batch(number: next(), writes: [])
        var most = min(options.batch, keysPerCall)
        while let write = firstInLine(), batch.writes.count < min(most, write.room) {
            most = min(most, write.room)
            unqueue(write.key)
            places[write.key]?.waiting = nil
            places[write.key]?.underWay = write
            places[write.key]?.batch = batch.number
            batch.writes.append(write)
        }
        batches[batch.number] = now.advanced(by: options.timeout + Self.grace)
        return batch
    }

    /// How many batches may be under way: one where the source seems to be down.
    private var mostBatches: Int { failuresInARow > 1 ? 1 : options.concurrency }

    /// The write whose turn it is.
    private mutating func firstInLine() -> Write? {
        while lineStart < line.count {
            let (key, turn) = line[lineStart]
            if let place = places[key], place.turn == turn, let write = place.waiting { return write }
            lineStart += 1
            guard lineStart > 64, 2 * lineStart > line.count else { continue }
            gone.keys += line[..<lineStart].map(\.key)
            line.removeFirst(lineStart)
            lineStart = 0
        }
        return nil
    }

    private func isDue(_ write: Write, at now: MonotonicInstant) -> Bool {
        isDraining || !waiters.isEmpty || write.isUrgent || write.attempts > 0 || lined >= options.batch
            || write.firstAt.advanced(by: options.delay) <= now
    }

    private mutating func endRests(at now: MonotonicInstant) {
        guard nextRest <= now else { return }
        nextRest = .distantFuture
        for key in resting {
            guard let write = places[key]?.waiting, write.dueAt > now else {
                wake(key)
                queue(key)
                continue
            }
            nextRest = min(nextRest, write.dueAt)
        }
    }

    /// Calls that do not end when they are cancelled hold up their own keys, and no others.
    private mutating func endHanging(at now: MonotonicInstant) {
        for (batch, end) in batches where end <= now {
            batches[batch] = nil
            noteFailure(at: now)
        }
    }

    // MARK: What is not written any more

    /// The writes whose time is over.
    private mutating func takeLost(at now: MonotonicInstant) -> Batch? {
        guard givesUp || nextLook <= now else {
            if nextLook == .distantFuture, !places.isEmpty { nextLook = now.advanced(by: Self.lookInterval) }
            return nil
        }
        nextLook = places.isEmpty ? .distantFuture : now.advanced(by: Self.lookInterval)
        var batch = Batch(number: next(), writes: [], isLost: true)
        for (key, place) in places {
            // A write that is being set takes its place, and one that is under way ends first.
            guard let write = place.waiting, place.setting == nil, place.underWay == nil,
                givesUp || end(of: write) <= now
            else { continue }
            unqueue(key)
            places[key]?.waiting = nil
            places[key]?.underWay = write
            places[key]?.batch = batch.number
            batch.writes.append(write)
        }
        givesUp = false
        return batch.writes.isEmpty ? nil : batch
    }

    // MARK: Waiting

    private mutating func admitCallers(at now: MonotonicInstant, _ effects: inout Effects) {
        while let first = callers.first, fits(first.write), let caller = callers.removeFirst() {
            admit(caller.write)
            effects.admitted.append(caller.number)
        }
        while let first = callers.first, first.until <= now, let caller = callers.removeFirst() {
            gone.writes.append(caller.write)
            effects.refused.append(caller.number)
        }
        counts.refused += effects.refused.count
    }

    private mutating func nextDue(at now: MonotonicInstant) -> MonotonicInstant {
        var due = min(nextRest, nextLook)
        if batches.count < mostBatches, let first = firstInLine() {
            let start = isDue(first, at: now) ? now : first.firstAt.advanced(by: options.delay)
            due = min(due, max(start, pausedUntil))
        }
        return callers.first.map { min(due, $0.until) } ?? due
    }
}
