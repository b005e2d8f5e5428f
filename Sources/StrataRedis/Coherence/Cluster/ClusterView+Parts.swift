extension ClusterView {
    /// The parts of keyspaces in which a slot has another owner than it had.
    func changedParts(since last: ClusterView?) -> Set<Int> {
        guard let last else { return Set(KeyspacePart.all.map(\.number)) }
        var numbers: [RedisEndpoint: UInt16] = [:]
        for (number, endpoint) in last.map.nodes.enumerated() { numbers[endpoint] = UInt16(number) }
        // Another order of the same nodes is no change.
        let before = map.nodes.map { numbers[$0] ?? SlotMap.nobody - 1 }
        var changed: Set<Int> = []
        for part in KeyspacePart.all {
            let isSame = part.slots.allSatisfy { slot in
                let owner = map.owners[slot]
                return (owner == SlotMap.nobody ? owner : before[Int(owner)]) == last.map.owners[slot]
            }
            if !isSame { changed.insert(part.number) }
        }
        return changed
    }
}
