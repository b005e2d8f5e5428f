internal import Synchronization

extension MemoryLevel {
    /// Sheds the coldest quarter, or everything.
    public func relieve(_ pressure: MemoryPressure) {
        switch pressure {
        case .moderate: shed(0.25)
        case .critical: empty(because: .pressure)
        }
    }

    /// Gives back a share of the memory, the coldest entries first.
    ///
    /// Writers may run in between; each waits for some hundred entries at most.
    ///
    /// - Parameter share: 0 for nothing, 1 for everything, by weight; values outside are brought inside.
    /// - Complexity: O(entries that leave).
    public func shed(_ share: Double) {
        guard share > 0 else { return }
        guard share < 1 else { return empty(because: .pressure) }
        var goal: Int?
        var isDone = false
        while !isDone {
            var departures = Departures()
            writer.withLock { writer in
                writer.state.drain(readers)
                let (weight, count) = (writer.state.policy.totalWeight, writer.state.policy.count)
                let rest = goal ?? Int((Double(weight) * (1 - share)).rounded(.down))
                goal = rest
                guard weight > rest else {
                    isDone = true
                    return
                }
                let step = max(weight / max(count / 256, 1), 1)
                let part = Double(min(weight - rest, step)) / Double(weight)
                writer.state.policy.shed(part, victims: &writer.state.victims)
                writer.removeVictims(because: .pressure, readers, &departures)
                writer.state.check()
            }
            tell(departures)
        }
    }

    /// Removes everything at once; keys and values are released, and reported, after the lock.
    func empty(because cause: RemovalCause) {
        let remains = writer.withLock { writer in writer.removeAll(because: cause, readers) }
        nextLook.store(.max, ordering: .relaxed)
        let isTold = cause == .pressure && events.wants(.evicted)
        guard onRemoval != nil || isTold else { return }
        CallLocals.apart {
            remains.visit { key, value in
                onRemoval?(MemoryRemoval(key: key, value: value, cause: cause))
                if isTold { tell(.evicted, of: key, because: .evicted) }
            }
        }
    }
}
