/// The optimum: evicts what is asked for again latest, which takes knowledge of the future (Belady, 1966).
enum Belady {
    /// The hit ratio of the optimum in percent.
    static func hitRatio(_ trace: Trace, capacity: Int) -> Double {
        let never = Int.max
        var nextUse = Array(repeating: never, count: trace.keys.count)
        var seen = Array(repeating: never, count: trace.distinct)
        for position in trace.keys.indices.reversed() {
            let key = Int(trace.keys[position])
            nextUse[position] = seen[key]
            seen[key] = position
        }
        // A heap of (next use, key), latest first; entries that a later request made stale are passed over.
        var heap: [(use: Int, key: Int)] = []
        var current = Array(repeating: -1, count: trace.distinct)
        var inside = 0
        var hits = 0
        for (position, key) in trace.keys.enumerated() {
            let key = Int(key)
            if current[key] >= 0 {
                hits += 1
            } else if capacity > 0 {
                while inside >= capacity {
                    let latest = popLatest(&heap)
                    guard current[latest.key] == latest.use else { continue }
                    current[latest.key] = -1
                    inside -= 1
                }
                inside += 1
            } else {
                continue
            }
            current[key] = nextUse[position]
            push((nextUse[position], key), &heap)
        }
        return trace.keys.isEmpty ? 0 : 100 * Double(hits) / Double(trace.keys.count)
    }

    private static func push(_ element: (use: Int, key: Int), _ heap: inout [(use: Int, key: Int)]) {
        heap.append(element)
        var child = heap.count - 1
        while child > 0, heap[(child - 1) / 2].use < heap[child].use {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private static func popLatest(_ heap: inout [(use: Int, key: Int)]) -> (use: Int, key: Int) {
        heap.swapAt(0, heap.count - 1)
        let latest = heap.removeLast()
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return latest }
            let larger = left + 1 < heap.count && heap[left + 1].use > heap[left].use ? left + 1 : left
            guard heap[larger].use > heap[parent].use else { return latest }
            heap.swapAt(larger, parent)
            parent = larger
        }
    }
}
