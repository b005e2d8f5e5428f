/// A first-in, first-out queue on a circular array.
///
/// Adding and removing are O(1), amortised when it grows.
struct RingBuffer<Element: Sendable>: Sendable {
    private var storage: ContiguousArray<Element?>
    private var head = 0
    private(set) var count = 0

    init(capacity: Int = 64) {
        var size = 8
        while size < capacity { size *= 2 }
        storage = ContiguousArray(repeating: nil, count: size)
    }

    var isEmpty: Bool { count == 0 }

    var first: Element? { count == 0 ? nil : storage[head] }

    var indices: Range<Int> { 0..<count }

    /// The element at `position` counted from the head.
    subscript(position: Int) -> Element {
        _read { yield storage[index(position)]! }
        _modify { yield &storage[index(position)]! }
    }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[index(count)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = storage[head].take()
        head = (head + 1) & (storage.count - 1)
        count -= 1
        return element
    }

    mutating func removeAll() {
        self = RingBuffer()
    }

    private func index(_ position: Int) -> Int {
        precondition(position <= count)
        return (head + position) & (storage.count - 1)
    }

    private mutating func grow() {
        var larger = ContiguousArray<Element?>(repeating: nil, count: storage.count * 2)
        for position in 0..<count { larger[position] = storage[index(position)] }
        storage = larger
        head = 0
    }
}
