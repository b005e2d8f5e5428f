/// A level in this process's memory: bounded, safe for any number of tasks, and answering without suspending.
///
/// ```swift
/// let products = MemoryLevel<Int, Product>(limit: .entries(10_000), lifetime: .seconds(30))
/// ```
///
/// The limit holds after every operation: the least recently used entries go first. An entry that is larger than the limit
/// is refused and displaces nothing. Expired entries are not returned; they leave when they are touched or displaced.
///
/// Complexity: reading, storing and removing are O(1), clearing is O(entries).
public final class MemoryLevel<Key: Hashable & Sendable, Value: Sendable>: CacheLevel {
    @usableFromInline
    let stripes: [MemoryStripe<Key, Value>]
    @usableFromInline
    let mask: Int
    private let limit: MemoryLimit<Value>
    private let lifetime: Duration?

    /// An empty level.
    ///
    /// - Parameters:
    ///   - limit: How much it may hold.
    ///   - lifetime: The longest an entry stays fresh here, whatever its own lifetime; `nil` leaves it as it is.
    public init(limit: MemoryLimit<Value>, lifetime: Duration? = nil) {
        self.limit = limit
        self.lifetime = lifetime
        // A stripe has its own order of use, so a small level must not be cut into pieces.
        let wanted = limit.weigh == nil ? limit.total / 256 : 16
        var count = 1
        while count < 16 && count * 2 <= wanted { count *= 2 }
        mask = count - 1
        let share = limit.total / count
        let rest = limit.total % count
        stripes = (0..<count).map { MemoryStripe(limit: max(0, share + ($0 < rest ? 1 : 0))) }
    }

    @inlinable
    func stripe(of key: Key) -> MemoryStripe<Key, Value> {
        mask == 0 ? stripes[0] : stripes[key.hashValue & mask]
    }

    /// The entry of a key, also when it is stale but may still be served.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        var entry = stripe(of: key).entry(for: key, at: start)
        entry?.origin = .memory
        request.recorder?.step(entry == nil ? .miss : .hit, at: .memory, from: start, to: .now)
        return entry
    }

    /// The entries of several keys.
    ///
    /// Nothing suspends.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        let start = MonotonicInstant.now
        return keys.map { key in
            var entry = stripe(of: key).entry(for: key, at: start)
            entry?.origin = .memory
            return entry
        }
    }

    /// A fresh value.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        stripe(of: key).resident(key, at: now)
    }

    /// Keeps an entry, displacing the least recently used ones where it needs their room.
    ///
    /// - Throws: ``CacheError/Code/tooLarge`` when the entry alone exceeds the limit; an older entry of the key is then removed.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        var entry = sealed(entry)
        if let lifetime {
            let end = MonotonicInstant.now.advanced(by: lifetime)
            entry.freshUntil = min(entry.freshUntil, end)
        }
        guard stripe(of: key).store(entry, for: key, weight: limit.weight(of: entry)) else {
            throw CacheError(code: .tooLarge, message: "the entry is larger than the memory level's limit")
        }
    }

    /// Removes a key.
    public func remove(_ key: Key) async throws {
        stripe(of: key).remove(key)
    }

    /// Removes everything.
    public func removeAll() async throws {
        for stripe in stripes { stripe.removeAll() }
    }

    /// Sheds the least recently used quarter, or everything.
    public func relieve(_ pressure: MemoryPressure) {
        for stripe in stripes {
            switch pressure {
            case .moderate: stripe.shed(share: 0.25)
            case .critical: stripe.removeAll()
            }
        }
    }

    /// They come back with their tickets.
    public var keepsTickets: Bool { true }

    /// What the level holds and how it was used, added up over its parts.
    public var statistics: MemoryStatistics {
        stripes.reduce(into: MemoryStatistics()) { $0.add($1.statistics) }
    }

    /// `memory`, with its limit.
    public var label: LevelLabel {
        LevelLabel("memory, at most \(limit.total) \(limit.weigh == nil ? "entries" : "of cost")")
    }
}
