import FleetChecker
import Strata

/// Where the keys of a soak lie in a cluster.
enum SoakSlots {
    static let count = 16_384
    /// A keyspace has so many parts, each with marks of its own.
    static let parts = 16
    /// What stands between the braces in the name of a part's marks.
    static let markTags = (0..<parts).map { part in tag { $0 * parts / count == part } }
    /// The slots that never move, one of each primary of the start, and what stands between the braces for them.
    static let anchors = (0..<SoakTopology.cluster.shards)
        .map { shard in
            let slot = count * shard / SoakTopology.cluster.shards
            return (slot: slot, tag: tag { $0 == slot })
        }

    private static func tag(_ isWanted: (Int) -> Bool) -> String {
        var number = 0
        while !isWanted(slot(of: String(number))) { number += 1 }
        return String(number)
    }

    /// The slot of what stands between the braces: CRC16 (XMODEM) of it.
    static func slot(of tag: some StringProtocol) -> Int {
        var sum: UInt16 = 0
        for byte in tag.utf8 {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
        return Int(sum) % count
    }

    /// The slot of a key of Redis.
    static func slot(ofName name: String) -> Int {
        guard let open = name.firstIndex(of: "{"), let close = name[open...].firstIndex(of: "}") else {
            return slot(of: name)
        }
        return slot(of: name[name.index(after: open)..<close])
    }

    /// The keys of a soak that a node with these slots has a say in: by the value, or by the marks of the value's part.
    static func keys(_ keyCount: Int, of slots: Set<Int>) -> Set<Int> {
        let marked = Set((0..<parts).filter { slots.contains(slot(of: markTags[$0])) })
        return Set(
            (0..<keyCount)
                .filter { key in
                    let slot = slot(of: String(key))
                    return slots.contains(slot) || marked.contains(slot * parts / count)
                }
        )
    }
}
