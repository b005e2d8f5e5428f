// One miniature: the same queues and the same rules as in `EvictionPolicy`, with every entry weighing 1.
//
// Queues are numbered as in `PolicyQueue`. A sampled request runs through this code once for each strategy, so it is
// written with tables instead of branches where the branch could not be foreseen.
extension MiniatureSimulation {
    private static var window: Int { Int(PolicyQueue.window.rawValue) }
    private static var probation: Int { Int(PolicyQueue.probation.rawValue) }
    private static var protected: Int { Int(PolicyQueue.protected.rawValue) }

    /// The table of where a hit moves an entry.
    func destinations(_ lane: Int) -> UInt32 {
        let main = UInt32(
            lanes[lane].protectedLimit > 0 ? PolicyQueue.protected.rawValue : PolicyQueue.probation.rawValue
        )
        let window: UInt32 =
            switch lanes[lane].strategy.windowHit {
            case .stays: 0
            case .refreshes: UInt32(PolicyQueue.window.rawValue)
            case .promotes: main
            }
        return window << 8 | main << 16 | UInt32(PolicyQueue.protected.rawValue) << 24
    }

    @inline(__always)
    mutating func hit(_ row: Int, _ lane: Int, from queue: Int) {
        let destination =
            Int(truncatingIfNeeded: lanes[lane].destinations &>> UInt32(truncatingIfNeeded: 8 &* queue)) & 0xFF
        guard destination != 0 else { return }
        move(row, lane, from: queue, to: destination)
        if count(lane, MiniatureSimulation.protected) > lanes[lane].protectedLimit { trimProtected(lane) }
    }

    private mutating func trimProtected(_ lane: Int) {
        while count(lane, MiniatureSimulation.protected) > lanes[lane].protectedLimit {
            move(
                last(lane, MiniatureSimulation.protected),
                lane,
                from: MiniatureSimulation.protected,
                to: MiniatureSimulation.probation
            )
        }
    }

    private mutating func trimWindow(_ lane: Int, atMost most: Int) {
        var left = most
        while left > 0, count(lane, MiniatureSimulation.window) > lanes[lane].windowLimit {
            move(
                last(lane, MiniatureSimulation.window),
                lane,
                from: MiniatureSimulation.window,
                to: MiniatureSimulation.probation
            )
            left &-= 1
        }
    }

    /// Evicts what no longer fits after the miniature became smaller.
    mutating func shrink(_ lane: Int) {
        while total(lane) > laneLimit {
            if mainIsEmpty(lane) {
                evict(last(lane, MiniatureSimulation.window), lane, from: MiniatureSimulation.window)
            } else {
                evictVictim(lane)
            }
        }
    }

    /// Takes a row that the miniature does not hold into its window and evicts what must go for it.
    mutating func admit(_ row: Int, _ lane: Int, _ epoch: UInt8) {
        guard total(lane) == laneLimit else {
            pushFront(row, lane, MiniatureSimulation.window)
            trimWindow(lane, atMost: .max)
            return
        }
        trimProtected(lane)
        trimWindow(lane, atMost: 2)
        pushFront(row, lane, MiniatureSimulation.window)
        let candidate = last(lane, MiniatureSimulation.window)
        if mainIsEmpty(lane) {
            evict(candidate, lane, from: MiniatureSimulation.window)
        } else if count(lane, MiniatureSimulation.window) <= lanes[lane].windowLimit {
            evictVictim(lane)
        } else if admits(candidate, over: victim(lane), lane, epoch) {
            evictVictim(lane)
            move(candidate, lane, from: MiniatureSimulation.window, to: MiniatureSimulation.probation)
        } else {
            evict(candidate, lane, from: MiniatureSimulation.window)
        }
    }

    private mutating func admits(_ candidate: Int, over victim: Int, _ lane: Int, _ epoch: UInt8) -> Bool {
        let challenge = aged(rows[candidate].frequency, from: rows[candidate].epoch, to: epoch)
        let defence = aged(rows[victim].frequency, from: rows[victim].epoch, to: epoch)
        dice = dice &* 1_664_525 &+ 1_013_904_223
        return lanes[lane].strategy.admits(challenge, over: defence, dice: dice &>> 16)
    }

    private func victim(_ lane: Int) -> Int {
        last(
            lane,
            count(lane, MiniatureSimulation.probation) > 0
                ? MiniatureSimulation.probation : MiniatureSimulation.protected
        )
    }

    private mutating func evictVictim(_ lane: Int) {
        let queue =
            count(lane, MiniatureSimulation.probation) > 0
            ? MiniatureSimulation.probation : MiniatureSimulation.protected
        evict(last(lane, queue), lane, from: queue)
    }

    mutating func evict(_ row: Int, _ lane: Int, from queue: Int) {
        unlink(row, lane)
        counts[lane &* MiniatureSimulation.heads &+ queue] &-= 1
        rows[row].queues &= ~(0xFF &<< UInt64(8 &* lane))
        if rows[row].queues == 0 { removeRow(row) }
    }

    @inline(__always)
    func count(_ lane: Int, _ queue: Int) -> Int { counts[lane &* MiniatureSimulation.heads &+ queue] }

    func total(_ lane: Int) -> Int {
        count(lane, MiniatureSimulation.window) &+ count(lane, MiniatureSimulation.probation)
            &+ count(lane, MiniatureSimulation.protected)
    }

    private func mainIsEmpty(_ lane: Int) -> Bool {
        count(lane, MiniatureSimulation.probation) &+ count(lane, MiniatureSimulation.protected) == 0
    }

    @inline(__always)
    private func last(_ lane: Int, _ queue: Int) -> Int {
        Int(links[queue &* MiniatureSimulation.maximumLanes &+ lane].previous)
    }

    @inline(__always)
    private mutating func move(_ row: Int, _ lane: Int, from queue: Int, to destination: Int) {
        unlink(row, lane)
        counts[lane &* MiniatureSimulation.heads &+ queue] &-= 1
        pushFront(row, lane, destination)
    }

    @inline(__always)
    private mutating func unlink(_ row: Int, _ lane: Int) {
        let link = links[row &* MiniatureSimulation.maximumLanes &+ lane]
        links[Int(link.previous) &* MiniatureSimulation.maximumLanes &+ lane].next = link.next
        links[Int(link.next) &* MiniatureSimulation.maximumLanes &+ lane].previous = link.previous
    }

    @inline(__always)
    private mutating func pushFront(_ row: Int, _ lane: Int, _ queue: Int) {
        let head = queue &* MiniatureSimulation.maximumLanes &+ lane
        let first = links[head].next
        links[row &* MiniatureSimulation.maximumLanes &+ lane] = Link(
            previous: UInt16(truncatingIfNeeded: queue),
            next: first
        )
        links[Int(first) &* MiniatureSimulation.maximumLanes &+ lane].previous = UInt16(truncatingIfNeeded: row)
        links[head].next = UInt16(truncatingIfNeeded: row)
        let place = UInt64(8 &* lane)
        rows[row].queues = rows[row].queues & ~(0xFF &<< place) | UInt64(queue) &<< place
        counts[lane &* MiniatureSimulation.heads &+ queue] &+= 1
    }
}
