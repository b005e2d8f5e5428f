/// Events in the order of their times, those of one time in the order in which they came.
///
/// A binary heap: O(log n) for each.
struct EventQueue<Event> {
    private struct Item {
        var time: Int64
        var number: UInt64
        var event: Event

        func comes(before other: Item) -> Bool { (time, number) < (other.time, other.number) }
    }

    private var heap: [Item] = []
    private var lastNumber: UInt64 = 0

    mutating func add(_ event: Event, at time: Int64) {
        lastNumber += 1
        heap.append(Item(time: time, number: lastNumber, event: event))
        var child = heap.count - 1
        while child > 0, heap[child].comes(before: heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() -> (time: Int64, event: Event)? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return (last.time, last.event) }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].comes(before: heap[least]) { least = child }
            }
            guard least != parent else { return (first.time, first.event) }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
