internal import Strata

/// What is to be checked, and when.
///
/// A key waits once for each delay. All of it is bounded: what is heard in a second by the rate, what waits by the rate
/// and the delays, and what is remembered of keys by ``mostKeys``.
struct ConsistencySchedule: Sendable {
    /// A look that is due after a change.
    struct Check: Sendable {
        let key: InspectedKey
        /// The number of the delay.
        let delay: Int
        /// When the change was heard of.
        let heard: MonotonicInstant
        /// The change was made no earlier than this; ``MonotonicInstant/distantPast`` where that is not known.
        let told: MonotonicInstant
        let due: MonotonicInstant
    }

    private struct Followed: Sendable {
        let key: InspectedKey
        var versions: [EntryVersion] = []
        var tags: [TagName] = []
    }

    private struct Place: Hashable, Sendable {
        let name: RedisKey
        let delay: Int
    }

    /// How many keys are remembered, with the last of their versions.
    static let mostKeys = 4096
    static let mostVersions = 8
    /// How many keys are checked after an invalidation by tag, a clear or a flush.
    static let mostOfInvalidation = 32
    private static let mostWaiting = 10_000

    let delays: [Duration]
    private let rate: Double
    private var credit: Double
    private var credited = MonotonicInstant.distantPast
    /// By delay; each is in the order in which they are due.
    private var queues: [[Check]]
    private var heads: [Int]
    private var waiting: Set<Place> = []
    private var followed: [RedisKey: Followed] = [:]
    private var order: [RedisKey] = []
    private var place = 0
    /// Up to when all changes have been told, by part.
    private var told: [KeyspacePart?: MonotonicInstant] = [:]

    private(set) var changes = 0
    private(set) var leftOut = 0
    private(set) var abandoned = 0

    init(delays: [Duration], rate: Int) {
        self.delays = delays
        self.rate = Double(rate)
        credit = Double(rate)
        queues = delays.map { _ in [] }
        heads = delays.map { _ in 0 }
    }

    // MARK: What is heard

    /// All changes of a part before `instant` have been told.
    mutating func trusted(_ part: KeyspacePart?, told instant: MonotonicInstant) { told[part] = instant }

    /// A key has changed.
    ///
    /// One change is told twice, as a notice and as a message. A key that waits for its first check is followed
    /// already, so what is told of it meanwhile counts for nothing.
    ///
    /// - Parameters:
    ///   - name: The name of its value.
    ///   - part: The part that it lies in.
    ///   - isFirst: Whether this is heard for the first time, so that the change was made no earlier than the link has
    ///     proved.
    ///   - now: The time.
    ///   - key: The key; `nil` if it is none that can be followed.
    mutating func changed(
        _ name: RedisKey,
        _ part: KeyspacePart?,
        isFirst: Bool = true,
        at now: MonotonicInstant,
        _ key: () -> InspectedKey?
    ) {
        guard !waitsForFirst(name) else { return }
        changes += 1
        guard admits(at: now), let key = key(), let bytes = key.userKey, bytes.count <= VersionQuestion.longestKey
        else {
            leftOut += 1
            return
        }
        schedule(key, at: now, told: isFirst ? told[part] ?? .distantPast : .distantPast)
    }

    /// Tags were invalidated in a part; `nil` if they are not named.
    mutating func invalidated(_ tags: [TagName]?, _ part: KeyspacePart? = nil, at now: MonotonicInstant) {
        note(changeIn: part)
        let tags = tags.map { Set($0) }
        // When the entry was stored says nothing here: it need not bear the tag.
        schedule(part, at: now, told: .distantPast) { found in
            tags.map { tags in found.tags.contains { tags.contains($0) } } ?? !found.tags.isEmpty
        }
    }

    /// Everything in a part was cleared.
    mutating func cleared(_ part: KeyspacePart?, isFirst: Bool = true, at now: MonotonicInstant) {
        note(changeIn: part)
        schedule(part, at: now, told: isFirst ? told[part] ?? .distantPast : .distantPast) { _ in true }
    }

    /// Each part of a keyspace tells of one and the same change.
    private mutating func note(changeIn part: KeyspacePart?) {
        if part?.number ?? 0 == 0 { changes += 1 }
    }

    private func waitsForFirst(_ name: RedisKey) -> Bool { waiting.contains(Place(name: name, delay: 0)) }

    /// Changes are no longer told: what waits was heard of before, and may have changed unheard since; and a server
    /// that takes over may bring back an older version.
    mutating func lost() {
        abandoned += waiting.count
        queues = delays.map { _ in [] }
        heads = delays.map { _ in 0 }
        waiting = []
        followed = [:]
        order = []
        place = 0
        told = [:]
    }

    private mutating func schedule(
        _ part: KeyspacePart?,
        at now: MonotonicInstant,
        told: MonotonicInstant,
        _ isMeant: (Followed) -> Bool
    ) {
        // On the I/O thread: no further than needed, the cheapest question first.
        var keys: [InspectedKey] = []
        for found in followed.values where isMeant(found) && !waitsForFirst(found.key.name) {
            guard part == nil || KeyspacePart(ofName: found.key.name.bytes) == part else { continue }
            keys.append(found.key)
            if keys.count == Self.mostOfInvalidation { break }
        }
        for key in keys {
            guard admits(at: now) else {
                leftOut += 1
                return
            }
            schedule(key, at: now, told: told)
        }
    }

    private mutating func schedule(_ key: InspectedKey, at now: MonotonicInstant, told: MonotonicInstant) {
        for (number, delay) in delays.enumerated() {
            guard waiting.count < Self.mostWaiting else {
                leftOut += 1
                return
            }
            guard waiting.insert(Place(name: key.name, delay: number)).inserted else { continue }
            queues[number]
                .append(
                    Check(key: key, delay: number, heard: now, told: told, due: now.advanced(by: delay))
                )
        }
    }

    private mutating func admits(at now: MonotonicInstant) -> Bool {
        if credited != .distantPast { credit += Double(credited.nanoseconds(to: now)) / 1e9 * rate }
        credited = now
        credit = min(credit, max(rate, 1))
        guard credit >= 1 else { return false }
        credit -= 1
        return true
    }

    // MARK: What is due

    /// Checks that are due.
    mutating func due(at now: MonotonicInstant) -> [Check] {
        var due: [Check] = []
        for number in delays.indices {
            while heads[number] < queues[number].count, due.count < VersionQuestion.mostKeys {
                let check = queues[number][heads[number]]
                guard check.due <= now else { break }
                heads[number] += 1
                waiting.remove(Place(name: check.key.name, delay: number))
                // A delay that is not kept says nothing.
                if check.due.duration(to: now) > max(delays[number], .seconds(1)) {
                    abandoned += 1
                } else {
                    due.append(check)
                }
            }
            if heads[number] > 1000 || heads[number] == queues[number].count {
                queues[number].removeFirst(heads[number])
                heads[number] = 0
            }
        }
        return due
    }

    /// When the next one is due; ``MonotonicInstant/distantFuture`` for none.
    var next: MonotonicInstant {
        delays.indices.map { heads[$0] < queues[$0].count ? queues[$0][heads[$0]].due : .distantFuture }.min()
            ?? .distantFuture
    }

    mutating func abandon(_ count: Int) { abandoned += count }

    // MARK: Versions

    /// The versions that Redis was seen to hold of a key until now.
    func versions(of key: InspectedKey) -> [EntryVersion] { followed[key.name]?.versions ?? [] }

    /// Redis was seen to hold this.
    mutating func saw(_ look: KeyLook, of key: InspectedKey) {
        guard case .entry(let version) = look.held else { return }
        if followed[key.name] == nil {
            if order.count < Self.mostKeys {
                order.append(key.name)
            } else {
                followed[order[place]] = nil
                order[place] = key.name
            }
            place = (place + 1) % Self.mostKeys
            followed[key.name] = Followed(key: key)
        }
        followed[key.name]?.tags = look.tags
        guard followed[key.name]?.versions.contains(version) == false else { return }
        followed[key.name]?.versions.append(version)
        if let count = followed[key.name]?.versions.count, count > Self.mostVersions {
            followed[key.name]?.versions.removeFirst()
        }
    }
}
