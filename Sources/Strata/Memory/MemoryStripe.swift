/// A part of a memory level with its own lock: a dictionary from keys to nodes, and the nodes in the order of their use.
@usableFromInline
final class MemoryStripe<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Node: Sendable {
        @usableFromInline
        var key: Key
        @usableFromInline
        var entry: Entry<Value>
        @usableFromInline
        var weight: Int
        @usableFromInline
        var newer: Int32
        @usableFromInline
        var older: Int32
    }

    @usableFromInline
    struct State: Sendable {
        @usableFromInline
        var index: [Key: Int32] = [:]
        @usableFromInline
        var nodes: ContiguousArray<Node?> = []
        var free: [Int32] = []
        @usableFromInline
        var newest: Int32 = -1
        @usableFromInline
        var oldest: Int32 = -1
        @usableFromInline
        var statistics = MemoryStatistics()
    }

    private let limit: Int
    @usableFromInline
    let state = Locked(State())

    init(limit: Int) {
        self.limit = limit
    }

    var statistics: MemoryStatistics { state.withLock { $0.statistics } }

    @inlinable
    func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        state.withLock { state in
            guard let number = state.index[key], let node = state.nodes[Int(number)], now < node.entry.freshUntil,
                case .value(let value) = node.entry.content, node.entry.seal?.isLive != false
            else { return nil }
            state.touch(number)
            state.statistics.hits += 1
            return Resident(value: value, ticket: node.entry.ticket)
        }
    }

    func entry(for key: Key, at now: MonotonicInstant) -> Entry<Value>? {
        state.withLock { state in
            guard let number = state.index[key], let node = state.nodes[Int(number)] else {
                state.statistics.misses += 1
                return nil
            }
            guard now < node.entry.staleUntil, node.entry.seal?.isLive != false else {
                state.remove(number)
                state.statistics.misses += 1
                return nil
            }
            state.touch(number)
            if node.entry.isFresh(at: now) { state.statistics.hits += 1 } else { state.statistics.misses += 1 }
            return node.entry
        }
    }

    /// Returns false when the entry alone exceeds the limit.
    func store(_ entry: Entry<Value>, for key: Key, weight: Int) -> Bool {
        state.withLock { state in
            if let number = state.index[key] { state.remove(number) }
            guard weight <= limit else { return false }
            while state.statistics.weight + weight > limit {
                state.remove(state.oldest)
                state.statistics.evictions += 1
            }
            state.insert(Node(key: key, entry: entry, weight: weight, newer: -1, older: -1))
            return true
        }
    }

    func remove(_ key: Key) {
        state.withLock { state in
            if let number = state.index[key] { state.remove(number) }
        }
    }

    func removeAll() {
        state.withLock { state in
            let statistics = state.statistics
            state = State()
            state.statistics = statistics
            state.statistics.entries = 0
            state.statistics.weight = 0
        }
    }

    func shed(share: Double) {
        state.withLock { state in
            let target = Int(Double(state.statistics.weight) * (1 - share))
            while state.statistics.weight > target, state.oldest >= 0 { state.remove(state.oldest) }
        }
    }
}

extension MemoryStripe.State {
    /// Makes a node the newest.
    @inlinable
    mutating func touch(_ number: Int32) {
        guard newest != number else { return }
        unlink(number)
        link(number)
    }

    @inlinable
    mutating func link(_ number: Int32) {
        nodes[Int(number)]?.older = newest
        nodes[Int(number)]?.newer = -1
        if newest >= 0 { nodes[Int(newest)]?.newer = number }
        newest = number
        if oldest < 0 { oldest = number }
    }

    @inlinable
    mutating func unlink(_ number: Int32) {
        guard let newer = nodes[Int(number)]?.newer, let older = nodes[Int(number)]?.older else { return }
        if newer >= 0 { nodes[Int(newer)]?.older = older } else { newest = older }
        if older >= 0 { nodes[Int(older)]?.newer = newer } else { oldest = newer }
    }

    mutating func insert(_ node: MemoryStripe<Key, Value>.Node) {
        let number: Int32
        if let reused = free.popLast() {
            number = reused
            nodes[Int(number)] = node
        } else {
            number = Int32(nodes.count)
            nodes.append(node)
        }
        index[node.key] = number
        link(number)
        statistics.entries += 1
        statistics.weight += node.weight
    }

    mutating func remove(_ number: Int32) {
        guard let node = nodes[Int(number)] else { return }
        unlink(number)
        index[node.key] = nil
        nodes[Int(number)] = nil
        free.append(number)
        statistics.entries -= 1
        statistics.weight -= node.weight
    }
}
