@testable import Strata

// The policy and the wheel with arrays, which tests compare.

extension SlotList {
    var all: [UInt32] { (0..<count).map { self[$0] } }
}

extension EvictionPolicy {
    @discardableResult
    mutating func insert(_ slot: UInt32, hash: UInt64, weight: Int = 1, victims: inout [UInt32]) -> Bool {
        var list = SlotList()
        let isInside = insert(slot, hash: hash, weight: weight, victims: &list)
        victims += list.all
        return isInside
    }

    mutating func reweigh(_ slot: UInt32, to weight: Int, victims: inout [UInt32]) {
        var list = SlotList()
        reweigh(slot, to: weight, victims: &list)
        victims += list.all
    }

    mutating func setLimit(_ limit: Int, victims: inout [UInt32]) {
        var list = SlotList()
        setLimit(limit, victims: &list)
        victims += list.all
    }

    mutating func shed(_ share: Double, victims: inout [UInt32]) {
        var list = SlotList()
        shed(share, victims: &list)
        victims += list.all
    }
}

extension TimerWheel {
    mutating func expire(upTo now: Int64, most: Int, into due: inout [UInt32]) {
        var list = SlotList()
        expire(upTo: now, most: most, into: &list)
        due += list.all
    }
}
