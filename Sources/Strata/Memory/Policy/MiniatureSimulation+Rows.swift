// The table of sampled keys: chained buckets, rows from a free list.
extension MiniatureSimulation {
    private func bucket(of hash: UInt32) -> Int {
        Int(hash >> shift) & (buckets.count - 1)
    }

    /// The row of a key, or 0.
    func find(_ hash: UInt32) -> Int {
        var row = Int(buckets[bucket(of: hash)])
        while row != 0, rows[row].hash != hash { row = Int(rows[row].chain) }
        return row
    }

    /// A row for a key that has none.
    mutating func insertRow(_ hash: UInt32) -> Int {
        let row: Int
        if free != 0 {
            row = Int(free)
            free = rows[row].chain
        } else {
            if used == rows.count { growRows() }
            row = used
            used += 1
        }
        let bucket = bucket(of: hash)
        rows[row] = Row()
        rows[row].hash = hash
        rows[row].chain = buckets[bucket]
        buckets[bucket] = UInt16(truncatingIfNeeded: row)
        return row
    }

    mutating func removeRow(_ row: Int) {
        let bucket = bucket(of: rows[row].hash)
        if Int(buckets[bucket]) == row {
            buckets[bucket] = rows[row].chain
        } else {
            var before = Int(buckets[bucket])
            while Int(rows[before].chain) != row { before = Int(rows[before].chain) }
            rows[before].chain = rows[row].chain
        }
        rows[row].chain = free
        free = UInt16(truncatingIfNeeded: row)
    }

    /// Doubles the table.
    ///
    /// Eight miniatures of 4095 entries need less than the 65 536 rows that a link can name.
    private mutating func growRows() {
        rows.grow(to: rows.count * 2, filling: Row())
        links.grow(to: rows.count * MiniatureSimulation.maximumMiniatures, filling: Link(previous: 0, next: 0))
        buckets = FlatArray(repeating: 0, count: rows.count)
        rebuildBuckets()
    }

    private mutating func rebuildBuckets() {
        buckets.fill(with: 0)
        for row in MiniatureSimulation.heads..<used where rows[row].queues != 0 {
            let bucket = bucket(of: rows[row].hash)
            rows[row].chain = buckets[bucket]
            buckets[bucket] = UInt16(row)
        }
    }

    /// Takes out the keys that are no longer in the sample after it became thinner.
    mutating func dropUnsampled() {
        rebuildBuckets()
        for row in MiniatureSimulation.heads..<used where rows[row].queues != 0 && rows[row].hash & sampleMask != 0 {
            for miniature in 0..<miniatures.count where queue(of: row, miniature) != 0 {
                evict(row, miniature, from: queue(of: row, miniature))
            }
        }
    }

    /// Empties every miniature.
    mutating func removeAll() {
        buckets.fill(with: 0)
        counts.fill(with: 0)
        free = 0
        used = MiniatureSimulation.heads
        for miniature in 0..<miniatures.count {
            for head in 0..<MiniatureSimulation.heads {
                let own = UInt16(head)
                links[head * MiniatureSimulation.maximumMiniatures + miniature] = Link(previous: own, next: own)
            }
        }
    }

    private func queue(of row: Int, _ miniature: Int) -> Int {
        Int(truncatingIfNeeded: rows[row].queues &>> UInt64(8 * miniature)) & 0xFF
    }

    func checkInvariants() {
        #if DEBUG
        for miniature in 0..<miniatures.count {
            var found = [0, 0, 0, 0]
            for queue in 1..<MiniatureSimulation.heads {
                var row = Int(links[queue * MiniatureSimulation.maximumMiniatures + miniature].next)
                var previous = queue
                while row != queue {
                    precondition(
                        Int(links[row * MiniatureSimulation.maximumMiniatures + miniature].previous) == previous
                    )
                    precondition(self.queue(of: row, miniature) == queue)
                    precondition(find(rows[row].hash) == row, "a row that cannot be found")
                    precondition(rows[row].hash & sampleMask == 0, "a row outside of the sample")
                    found[queue] += 1
                    previous = row
                    row = Int(links[row * MiniatureSimulation.maximumMiniatures + miniature].next)
                }
            }
            for queue in 1..<MiniatureSimulation.heads { precondition(found[queue] == count(miniature, queue)) }
            precondition(total(miniature) <= miniatureLimit, "a miniature holds too much")
        }
        #endif
    }
}
