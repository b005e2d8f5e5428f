internal import Strata

/// Unconfirmed invalidations: the newest of each target, a bounded number, each for a bounded time.
///
/// Recording and settling are O(1) when intents of one kind expire in the order of recording, as they do with a
/// constant lifetime; otherwise O(n).
struct PendingInvalidations: Sendable {
    /// The target of an invalidation.
    enum Target: Sendable, Hashable {
        case key(KeyNames, Keyspace)
        /// All keys of a keyspace, or of a part of it.
        case all(Keyspace, KeyspacePart? = nil)
        /// All keys of a keyspace, or of a part of it, whose entries bear a tag.
        case tag(TagName, Keyspace, KeyspacePart? = nil)

        /// The key whose server is asked: the value, or the marks.
        var key: RedisKey {
            switch self {
            case .key(let names, _): names.value
            case .all(let keyspace, let part), .tag(_, let keyspace, let part): RedisKey(keyspace.marks(of: part))
            }
        }

        static func == (left: Target, right: Target) -> Bool {
            switch (left, right) {
            case (.key(let left, _), .key(let right, _)): left.value == right.value
            case (.all(let left, let one), .all(let right, let other)): left.values == right.values && one == other
            case (.tag(let left, let one, let first), .tag(let right, let other, let second)):
                left == right && one.values == other.values && first == second
            default: false
            }
        }

        func hash(into hasher: inout Hasher) {
            switch self {
            case .key(let names, _): hasher.combine(names.value)
            case .all(let keyspace, let part):
                hasher.combine(keyspace.values)
                hasher.combine(part)
            case .tag(let name, let keyspace, let part):
                hasher.combine(name)
                hasher.combine(keyspace.values)
                hasher.combine(part)
            }
        }
    }

    /// Which part of an answer may be older than a pending invalidation.
    enum Reach: Sendable, Equatable {
        case nothing
        /// All of it.
        case everything
        /// Entries with one of these tags.
        case tags(Set<TagName>)

        /// Whether an entry with these tags is reached.
        func covers(_ tags: [String]) -> Bool {
            switch self {
            case .nothing: false
            case .everything: true
            case .tags(let names): tags.contains { names.contains(TagName($0)) }
            }
        }
    }

    /// How much is lost when the intent is given up for lack of room.
    enum Rank: Int, Sendable, Comparable {
        /// A value could not be stored: an older one may still lie there.
        ///
        /// It may have been a fill, of which there are many in an outage.
        case write
        /// The application has said that a value is wrong, and was told that it still may be there.
        case removal
        /// The application has said that a value is wrong, and was told that it will be removed.
        case promised

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    struct Intent: Sendable {
        let target: Target
        let rank: Rank
        /// Tells it from older and newer ones of the same target.
        let number: UInt64
        let madeAt: MonotonicInstant
        /// Until then the write to remove may still arrive.
        let notBefore: MonotonicInstant
        /// When every value that it could remove has expired.
        let expiresAt: MonotonicInstant
        /// How often it was refused for good, and until when it is not tried again for that.
        fileprivate(set) var refusals = 0
        fileprivate(set) var restsUntil = MonotonicInstant.distantPast
    }

    /// The invalidations of a keyspace beside those of single keys.
    private struct Breadth {
        var isCleared = false
        var tags: Set<TagName> = []

        var reach: Reach { isCleared ? .everything : tags.isEmpty ? .nothing : .tags(tags) }
    }

    private let limit: Int
    private var intents: [Target: Intent] = [:]
    /// By rank; each in the order of expiry, with places whose intent is gone or superseded.
    private var order = [ExpiryQueue(), ExpiryQueue(), ExpiryQueue()]
    /// A keyspace by the prefix of its values' names, or a part of it.
    private struct Place: Hashable {
        let values: [UInt8]
        let part: KeyspacePart?

        init(_ keyspace: Keyspace, _ part: KeyspacePart?) {
            values = keyspace.values
            self.part = part
        }
    }

    /// The clears and the tags of keyspaces.
    private var keyspaces: [Place: Breadth] = [:]
    private var lastNumber: UInt64 = 0
    /// Given up for lack of room, or because they had expired.
    private(set) var dropped = 0

    /// - Parameter limit: How many are kept; at least one.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var count: Int { intents.count }
    var isEmpty: Bool { intents.isEmpty }

    /// Which of the values under these names may be older than a pending invalidation.
    func reach(over names: KeyNames, _ keyspace: Keyspace) -> Reach {
        if intents[.key(names, keyspace)] != nil { return .everything }
        return keyspaces.isEmpty ? .nothing : keyspaces[Place(keyspace, names.part)]?.reach ?? .nothing
    }

    /// Keeps an intent in the place of an older one of the same target.
    ///
    /// When there is no room, the intent that expires first is given up: a failed write before any removal, and no
    /// promised one for another.
    ///
    /// - Returns: Whether it is kept.
    @discardableResult
    mutating func record(
        _ target: Target,
        _ rank: Rank,
        at now: MonotonicInstant,
        for lifetime: Duration,
        notBefore: MonotonicInstant = .distantPast
    ) -> Bool {
        let old = intents[target]
        if rank == .promised, old == nil, intents.count >= limit, isPromisedOnly() {
            dropped += 1
            return false
        }
        lastNumber += 1
        let intent = Intent(
            target: target,
            rank: max(rank, old?.rank ?? rank),
            number: lastNumber,
            madeAt: now,
            notBefore: max(notBefore, old?.notBefore ?? notBefore),
            expiresAt: max(now.advanced(by: lifetime), old?.expiresAt ?? now)
        )
        insert(intent)
        place(intent)
        while intents.count > limit { evict() }
        return intents[target] != nil
    }

    /// An intent was carried out; does nothing when there is a newer one of its target.
    ///
    /// - Returns: Whether it was there.
    @discardableResult
    mutating func settle(_ intent: Intent) -> Bool {
        guard intents[intent.target]?.number == intent.number else { return false }
        remove(intent.target)
        return true
    }

    /// An intent was refused for good: it is tried ever more rarely, and keeps no other waiting.
    ///
    /// - Parameters:
    ///   - intent: The intent.
    ///   - pauses: The shortest and the longest time until the next attempt; doubled each time, a random half less.
    ///   - now: The time of the system.
    mutating func refuse(_ intent: Intent, pauses: ClosedRange<Duration>, at now: MonotonicInstant) {
        guard var kept = intents[intent.target], kept.number == intent.number else { return }
        kept.refusals += 1
        let whole = min(pauses.upperBound, pauses.lowerBound * (1 << min(kept.refusals - 1, 20)))
        kept.restsUntil = now.advanced(by: whole * Double.random(in: 0.5...1))
        // Thousands are looked at once a second, and not each by itself.
        if whole >= .seconds(2) {
            let second: Int64 = 1_000_000_000
            kept.restsUntil = MonotonicInstant(nanoseconds: (kept.restsUntil.nanoseconds / second + 1) * second)
        }
        intents[intent.target] = kept
    }

    /// Lets the intent of a key be tried at once, whatever has refused it.
    mutating func retry(_ names: KeyNames, _ keyspace: Keyspace) {
        intents[.key(names, keyspace)]?.restsUntil = .distantPast
    }

    /// Whether one may be tried before a time, as far as refusals go.
    ///
    /// O(n).
    func hasChance(by end: MonotonicInstant) -> Bool { intents.values.contains { $0.restsUntil < end } }

    /// Gives up the intents whose values have all expired.
    mutating func expire(at now: MonotonicInstant) {
        for rank in order.indices {
            while let first = first(rank), first.expiresAt <= now { giveUp(first, rank) }
        }
    }

    /// All intents, removals first, and of those the ones that expire first.
    ///
    /// O(n).
    var inOrder: [Intent] { order.reversed().flatMap { $0.places.compactMap { intent(at: $0) } } }

    /// When the first intent may be carried out; ``MonotonicInstant/distantFuture`` when there is none.
    ///
    /// O(n).
    var firstDue: MonotonicInstant {
        intents.values.reduce(.distantFuture) { min($0, max($1.notBefore, $1.restsUntil)) }
    }

    // MARK: Inside

    private mutating func insert(_ intent: Intent) {
        intents[intent.target] = intent
        switch intent.target {
        case .key: break
        case .all(let keyspace, let part): keyspaces[Place(keyspace, part), default: Breadth()].isCleared = true
        case .tag(let name, let keyspace, let part):
            keyspaces[Place(keyspace, part), default: Breadth()].tags.insert(name)
        }
    }

    private mutating func remove(_ target: Target) {
        guard intents.removeValue(forKey: target) != nil else { return }
        switch target {
        case .key: break
        case .all(let keyspace, let part): narrow(Place(keyspace, part)) { $0.isCleared = false }
        case .tag(let name, let keyspace, let part): narrow(Place(keyspace, part)) { $0.tags.remove(name) }
        }
    }

    private mutating func narrow(_ place: Place, _ body: (inout Breadth) -> Void) {
        body(&keyspaces[place, default: Breadth()])
        if keyspaces[place]?.reach == .nothing { keyspaces[place] = nil }
    }

    private mutating func place(_ intent: Intent) {
        let rank = intent.rank.rawValue
        order[rank].insert(.init(target: intent.target, number: intent.number, expiresAt: intent.expiresAt))
        guard order[rank].count > 2 * intents.count + 64 else { return }
        order[rank].keep { intents[$0.target]?.number == $0.number }
    }

    private mutating func evict() {
        for rank in order.indices {
            guard let first = first(rank) else { continue }
            return giveUp(first, rank)
        }
    }

    private mutating func isPromisedOnly() -> Bool {
        first(Rank.write.rawValue) == nil && first(Rank.removal.rawValue) == nil
    }

    private mutating func giveUp(_ intent: Intent, _ rank: Int) {
        remove(intent.target)
        order[rank].removeFirst()
        dropped += 1
    }

    /// The intent of a rank that expires first.
    private mutating func first(_ rank: Int) -> Intent? {
        while let place = order[rank].first {
            if let intent = intent(at: place) { return intent }
            order[rank].removeFirst()
        }
        return nil
    }

    private func intent(at place: ExpiryQueue.Place) -> Intent? {
        intents[place.target].flatMap { $0.number == place.number ? $0 : nil }
    }
}
