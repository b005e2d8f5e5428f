extension PendingWrites {
    /// The source has got writes.
    mutating func succeeded() {
        failuresInARow = 0
        pausedUntil = .distantPast
    }

    /// The source has refused a batch.
    ///
    /// - Parameters:
    ///   - writes: The writes of the batch.
    ///   - batch: The batch.
    ///   - error: What the source has thrown.
    ///   - isLasting: Whether the same writes would fail again, by ``WriteBehindOptions/isTransient``.
    ///   - now: The time.
    /// - Returns: The writes to give up; they count as under way until they have ended.
    mutating func failed(
        _ writes: [Write],
        of batch: Batch,
        _ error: any Error,
        isLasting: Bool,
        at now: MonotonicInstant
    ) -> [Write] {
        // One of them may be a write that the source never takes: the others go without it, and at once.
        let isHalved = isLasting && writes.count > 1
        // A call that did not end in time was noted then.
        if !isLasting, batches[batch.number] != nil { noteFailure(at: now) }
        var lost: [Write] = []
        for write in writes {
            guard var write = land(write, of: batch) else { continue }
            counts.failed += 1
            write.attempts += 1
            write.lastError = error
            write.dueAt = isHalved ? now : now.advanced(by: pause(write.attempts))
            if writes.count > 1 { write.room = max(1, writes.count / 2) }
            if var later = places[write.key]?.waiting {
                replace(write, by: &later)
                if isEnding { lost.append(lose(later)) } else { rest(later) }
            } else if isEnding || isLasting && !isHalved || write.dueAt >= end(of: write) {
                lost.append(lose(write))
            } else {
                rest(write)
            }
        }
        return lost
    }

    /// A call of the source has failed.
    mutating func noteFailure(at now: MonotonicInstant) {
        failuresInARow += 1
        // Once is chance; twice is a source that is down.
        if failuresInARow > 1 { pausedUntil = now.advanced(by: pause(failuresInARow - 1)) }
    }

    /// A write counts as under way until its cache has forgotten it.
    private mutating func lose(_ write: Write) -> Write {
        places[write.key]?.waiting = nil
        places[write.key]?.underWay = write
        return write
    }

    private mutating func rest(_ write: Write) {
        places[write.key]?.waiting = write
        resting.insert(write.key)
        nextRest = min(nextRest, write.dueAt)
    }

    private func pause(_ times: Int) -> Duration {
        let whole = min(options.backOff.lowerBound * (1 << min(times - 1, 20)), options.backOff.upperBound)
        return whole * Double.random(in: 0.5...1)
    }

    /// When a write is given up.
    func end(of write: Write) -> MonotonicInstant { write.setAt.advanced(by: options.givenUpAfter) }

    /// Removes a write that is under way.
    ///
    /// - Returns: The write; `nil` when it was given up.
    private mutating func land(_ write: Write, of batch: Batch) -> Write? {
        guard places[write.key]?.batch == batch.number, let landed = places[write.key]?.underWay.take() else {
            return nil
        }
        gone.writes.append(landed)
        return write
    }

    /// Lets a later write of this process stand for one that is under way.
    ///
    /// - Returns: Whether there is one.
    mutating func yield(_ write: Write, of batch: Batch) -> Bool {
        guard var later = places[write.key]?.waiting, let write = land(write, of: batch) else { return false }
        replace(write, by: &later)
        places[write.key]?.waiting = later
        queue(write.key)
        return true
    }

    /// A write of a batch has ended.
    ///
    /// - Returns: Whether it was under way until now.
    @discardableResult
    mutating func end(_ write: Write, of batch: Batch, _ end: End) -> Bool {
        guard let write = land(write, of: batch) else { return false }
        cost -= write.cost
        let error: (any Error)?
        switch end {
        case .written: (error, counts.written) = (nil, counts.written + 1)
        case .givenUp(let cause): (error, counts.givenUp) = (cause, counts.givenUp + 1)
        }
        waiters.end(write.number, error)
        if !vacate(write.key) { queue(write.key) }
        return true
    }

    /// In the cache, another instance's value has overtaken the one that was written; it has to be written, too.
    mutating func adopt(_ entry: Entry<Value>, afterWriting write: Write, of batch: Batch, at now: MonotonicInstant) {
        guard places[write.key]?.waiting == nil else {
            end(write, of: batch, .written)
            return
        }
        guard let write = land(write, of: batch) else { return }
        counts.adopted += 1
        counts.written += 1
        var other = Write(write.key, entry, cost: write.cost, at: now)
        other.version = entry.version
        other.isTaken = true
        other.number = write.number
        other.isUrgent = true
        places[write.key]?.waiting = other
        queue(write.key)
    }

    /// The value to write for a key is another instance's, which is later.
    mutating func adopted() { counts.adopted += 1 }

    /// The cache could not be told of a write, nor keep the news for later.
    mutating func untold() { counts.untold += 1 }

    /// All of a batch has ended.
    mutating func end(_ batch: Batch) { batches[batch.number] = nil }

    /// From now on no write waits for others to go with it.
    mutating func drain() { isDraining = true }

    /// Gives up all that waits; writes that are set from now on are tried once.
    mutating func giveUp() {
        isEnding = true
        givesUp = true
    }

    /// Drops all that is under way, since it does not end.
    ///
    /// - Parameter error: Why, for writes that have not failed before.
    /// - Returns: The writes.
    mutating func abandonAll(_ error: any Error) -> [Write] {
        var lost: [Write] = []
        for (key, place) in places {
            for write in [place.underWay, place.waiting].compactMap(\.self) {
                lost.append(write)
                cost -= write.cost
                counts.givenUp += 1
                waiters.end(write.number, write.lastError ?? error)
            }
            unqueue(key)
            places[key]?.underWay = nil
            places[key]?.waiting = nil
            vacate(key)
        }
        return lost
    }
}
