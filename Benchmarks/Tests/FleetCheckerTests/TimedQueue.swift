/// Steps of a simulation in the order of their times; those of one time in the order in which they were added.
struct TimedQueue {
    private struct Entry {
        var time: UInt64
        var number: Int
        var step: (UInt64) -> Void

        func isBefore(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
    }

    private var heap: [Entry] = []
    private var added = 0

    mutating func add(_ time: UInt64, _ step: @escaping (UInt64) -> Void) {
        heap.append(Entry(time: time, number: added, step: step))
        added += 1
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> (time: UInt64, step: (UInt64) -> Void)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return (first.time, first.step) }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least])
            {
                least = child
            }
            if least == parent { return (first.time, first.step) }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
