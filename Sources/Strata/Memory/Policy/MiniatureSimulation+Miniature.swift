// One miniature: the same queues and the same rules as in `EvictionPolicy`, with every entry weighing 1.
//
// Queues are numbered as in `PolicyQueue`. A sampled request runs through this code once for each strategy, so it is
// written with tables instead of branches where the branch could not be foreseen.
extension MiniatureSimulation {
    private static var window: Int { Int(PolicyQueue.window.rawValue) }
    private static var probation: Int { Int(PolicyQueue.probation.rawValue) }
    private static var protected: Int { Int(PolicyQueue.protected.rawValue) }

    /// The table of where a hit moves an entry.
    func destinations(_ miniature: Int) -> UInt32 {
        let main = UInt32(
            miniatures[miniature].protectedLimit > 0 ? PolicyQueue.protected.rawValue : PolicyQueue.probation.rawValue
        )
        let window: UInt32 =
            switch miniatures[miniature].strategy.windowHit {
            case .stays: 0
            case .refreshes: UInt32(PolicyQueue.window.rawValue)
            case .promotes: main
            }
        return window << 8 | main << 16 | UInt32(PolicyQueue.protected.rawValue) << 24
    }

    @inline(__always)
    mutating func hit(_ row: Int, _ miniature: Int, from queue: Int) {
        let destination =
            Int(truncatingIfNeeded: miniatures[miniature].destinations &>> UInt32(truncatingIfNeeded: 8 &* queue))
            & 0xFF
        guard destination != 0 else { return }
        move(row, miniature, from: queue, to: destination)
        if count(miniature, MiniatureSimulation.protected) > miniatures[miniature].protectedLimit {
            trimProtected(miniature)
        }
    }

    private mutating func trimProtected(_ miniature: Int) {
        while count(miniature, MiniatureSimulation.protected) > miniatures[miniature].protectedLimit {
            move(
                last(miniature, MiniatureSimulation.protected),
                miniature,
                from: MiniatureSimulation.protected,
                to: MiniatureSimulation.probation
            )
        }
    }

    private mutating func trimWindow(_ miniature: Int, atMost most: Int) {
        var left = most
        while left > 0, count(miniature, MiniatureSimulation.window) > miniatures[miniature].windowLimit {
            move(
                last(miniature, MiniatureSimulation.window),
                miniature,
                from: MiniatureSimulation.window,
                to: MiniatureSimulation.probation
            )
            left &-= 1
        }
    }

    /// Evicts what no longer fits after the miniature became smaller.
    mutating func shrink(_ miniature: Int) {
        while total(miniature) > miniatureLimit {
            if mainIsEmpty(miniature) {
                evict(last(miniature, MiniatureSimulation.window), miniature, from: MiniatureSimulation.window)
            } else {
                evictVictim(miniature)
            }
        }
    }

    /// Takes a row that the miniature does not hold into its window and evicts what must go for it.
    mutating func admit(_ row: Int, _ miniature: Int, _ epoch: UInt8) {
        guard total(miniature) == miniatureLimit else {
            pushFront(row, miniature, MiniatureSimulation.window)
            trimWindow(miniature, atMost: .max)
            return
        }
        trimProtected(miniature)
        trimWindow(miniature, atMost: 2)
        pushFront(row, miniature, MiniatureSimulation.window)
        let candidate = last(miniature, MiniatureSimulation.window)
        if mainIsEmpty(miniature) {
            evict(candidate, miniature, from: MiniatureSimulation.window)
        } else if count(miniature, MiniatureSimulation.window) <= miniatures[miniature].windowLimit {
            evictVictim(miniature)
        } else if admits(candidate, over: victim(miniature), miniature, epoch) {
            evictVictim(miniature)
            move(candidate, miniature, from: MiniatureSimulation.window, to: MiniatureSimulation.probation)
        } else {
            evict(candidate, miniature, from: MiniatureSimulation.window)
        }
    }

    private mutating func admits(_ candidate: Int, over victim: Int, _ miniature: Int, _ epoch: UInt8) -> Bool {
        let challenge = aged(rows[candidate].frequency, from: rows[candidate].epoch, to: epoch)
        let defence = aged(rows[victim].frequency, from: rows[victim].epoch, to: epoch)
        dice = dice &* 1_664_525 &+ 1_013_904_223
        return miniatures[miniature].strategy.admits(challenge, over: defence, dice: dice &>> 16)
    }

    private func victim(_ miniature: Int) -> Int {
        last(
            miniature,
            count(miniature, MiniatureSimulation.probation) > 0
                ? MiniatureSimulation.probation : MiniatureSimulation.protected
        )
    }

    private mutating func evictVictim(_ miniature: Int) {
        let queue =
            count(miniature, MiniatureSimulation.probation) > 0
            ? MiniatureSimulation.probation : MiniatureSimulation.protected
        evict(last(miniature, queue), miniature, from: queue)
    }

    mutating func evict(_ row: Int, _ miniature: Int, from queue: Int) {
        unlink(row, miniature)
        counts[miniature &* MiniatureSimulation.heads &+ queue] &-= 1
        rows[row].queues &= ~(0xFF &<< UInt64(8 &* miniature))
        if rows[row].queues == 0 { removeRow(row) }
    }

    @inline(__always)
    func count(_ miniature: Int, _ queue: Int) -> Int { counts[miniature &* MiniatureSimulation.heads &+ queue] }

    func total(_ miniature: Int) -> Int {
        count(miniature, MiniatureSimulation.window) &+ count(miniature, MiniatureSimulation.probation)
            &+ count(miniature, MiniatureSimulation.protected)
    }

    private func mainIsEmpty(_ miniature: Int) -> Bool {
        count(miniature, MiniatureSimulation.probation) &+ count(miniature, MiniatureSimulation.protected) == 0
    }

    @inline(__always)
    private func last(_ miniature: Int, _ queue: Int) -> Int {
        Int(links[queue &* MiniatureSimulation.maximumMiniatures &+ miniature].previous)
    }

    @inline(__always)
    private mutating func move(_ row: Int, _ miniature: Int, from queue: Int, to destination: Int) {
        unlink(row, miniature)
        counts[miniature &* MiniatureSimulation.heads &+ queue] &-= 1
        pushFront(row, miniature, destination)
    }

    @inline(__always)
    private mutating func unlink(_ row: Int, _ miniature: Int) {
        let link = links[row &* MiniatureSimulation.maximumMiniatures &+ miniature]
        links[Int(link.previous) &* MiniatureSimulation.maximumMiniatures &+ miniature].next = link.next
        links[Int(link.next) &* MiniatureSimulation.maximumMiniatures &+ miniature].previous = link.previous
    }

    @inline(__always)
    private mutating func pushFront(_ row: Int, _ miniature: Int, _ queue: Int) {
        let head = queue &* MiniatureSimulation.maximumMiniatures &+ miniature
        let first = links[head].next
        links[row &* MiniatureSimulation.maximumMiniatures &+ miniature] = Link(
            previous: UInt16(truncatingIfNeeded: queue),
            next: first
        )
        links[Int(first) &* MiniatureSimulation.maximumMiniatures &+ miniature].previous = UInt16(
            truncatingIfNeeded: row
        )
        links[head].next = UInt16(truncatingIfNeeded: row)
        let place = UInt64(8 &* miniature)
        rows[row].queues = rows[row].queues & ~(0xFF &<< place) | UInt64(queue) &<< place
        counts[miniature &* MiniatureSimulation.heads &+ queue] &+= 1
    }
}
