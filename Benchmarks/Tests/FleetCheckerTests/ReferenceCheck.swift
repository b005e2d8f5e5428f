import FleetChecker

/// The checks said as plainly as possible, each read against all events: slow, and nothing in common with the checker.
struct ReferenceCheck {
    let events: [HistoryEvent]
    let initialVersion: UInt64
    let tags: [Int: [Int]]
    /// In nanoseconds.
    var fleetBound: UInt64
    var ownBound: UInt64
    var faultBound: UInt64
    var recovery: UInt64
    var leaseLead: UInt64
    var ambiguity: UInt64
    var orphanLimit: UInt64 = .max
    var unfinished: UInt64 = 0
    var exceptKeys: Set<Int> = []

    var hardshipRecovery: UInt64 = 0

    /// The label of faults that lose what tags' and whole invalidations have left: `loss`, as it is packed.
    static let loss: UInt64 = 0x7373_6f6c
    /// The label of hardships: `hard`, as it is packed.
    static let hard: UInt64 = 0x6472_6168

    struct Finding: Hashable, Comparable {
        var kind: ViolationKind
        var key: Int
        var instance: String
        var start: UInt64

        static func < (one: Finding, other: Finding) -> Bool {
            (one.kind.rawValue, one.key, one.instance, one.start)
                < (other.kind.rawValue, other.key, other.instance, other.start)
        }
    }

    /// Whether an event is a fault and no hardship.
    func isFault(_ event: HistoryEvent) -> Bool { event.kind == .fault && event.version != Self.hard }

    func touches(_ invalidation: HistoryEvent, _ key: UInt32) -> Bool {
        switch invalidation.kind {
        case .invalidateKey, .set: invalidation.key == key
        case .invalidateTag: tags[Int(invalidation.key)]?.contains(Int(key)) ?? false
        case .invalidateAll: true
        case .get, .write, .fetch, .instance, .fault: false
        }
    }

    /// Whether a fault has lost what an invalidation has left, for reads that begin at a time.
    func isLost(_ invalidation: HistoryEvent, at time: UInt64) -> Bool {
        [.invalidateTag, .invalidateAll].contains(invalidation.kind)
            && events.contains {
                $0.kind == .fault && $0.version == Self.loss && $0.start <= time
                    && ($0.end == 0 || invalidation.start <= $0.end)
            }
    }

    /// The version that reads of a key starting at a time must have, if `bound` is the bound.
    func required(_ key: UInt32, at time: UInt64, bound: UInt64, by instance: UInt32? = nil) -> UInt64 {
        var newest = initialVersion
        for invalidation in events where touches(invalidation, key) && invalidation.outcome == .done {
            guard invalidation.end + bound < time, !isLost(invalidation, at: time),
                instance == nil || invalidation.instance == instance
            else {
                continue
            }
            newest = max(newest, invalidation.version)
            if invalidation.kind == .set { continue }
            for write in events where write.kind == .write && write.key == key && write.outcome == .value {
                if write.end <= invalidation.start { newest = max(newest, write.version) }
            }
        }
        return newest
    }

    func isWritten(_ version: UInt64, _ key: UInt32, by time: UInt64) -> Bool {
        version == initialVersion
            || version > initialVersion
                && events.contains {
                    $0.kind == .write && $0.key == key && $0.version == version && $0.start <= time
                }
    }

    func isFaulty(_ time: UInt64) -> Bool {
        events.contains { isFault($0) && $0.start <= time && (time <= $0.end + recovery || $0.end == 0) }
    }

    /// What is wrong with a read, the backwards rule aside.
    func verdict(_ get: HistoryEvent) -> ViolationKind? {
        switch get.outcome {
        case .stranger: return .stranger
        case .forged: return .forged
        case .value, .absent: break
        case .open, .miss, .failed, .done: return nil
        }
        let version = get.outcome == .absent ? 0 : get.version
        guard isWritten(version, get.key, by: get.end) else { return .thinAir }
        guard get.marks.subtracting(.together).isEmpty else { return nil }
        let bound = isFaulty(get.start) ? max(faultBound, fleetBound) : fleetBound
        if version < required(get.key, at: get.start, bound: bound) { return .stale }
        let own = min(ownBound, bound)
        return version < required(get.key, at: get.start, bound: own, by: get.instance) ? .ownStale : nil
    }

    /// Whether a read gives less than one of the same instance that had ended.
    func goesBackwards(_ get: HistoryEvent) -> Bool {
        [.value, .absent].contains(get.outcome) && get.marks.subtracting(.together).isEmpty && verdict(get) == nil
            && events.contains {
                $0.kind == .get && [.value, .absent].contains($0.outcome) && $0.key == get.key
                    && $0.instance == get.instance && $0.end < get.start && $0.version > get.version
                    && verdict($0) != .thinAir
            }
    }

    /// Whether another instance was fetching when this fetch began.
    func overlaps(_ fetch: HistoryEvent, _ other: HistoryEvent) -> Bool {
        other.kind == .fetch && other.key == fetch.key && other.instance != fetch.instance
            && (other.start, other.end, other.instance) < (fetch.start, fetch.end, fetch.instance)
            && other.end > fetch.start
    }

    var overlapCount: Int {
        events.count { fetch in fetch.kind == .fetch && events.contains { overlaps(fetch, $0) } }
    }

    /// Whether another instance was fetching when this fetch began, without an excuse.
    func isDouble(_ fetch: HistoryEvent) -> Bool {
        guard !exceptKeys.contains(Int(fetch.key)) else { return false }
        return events.contains { other in
            overlaps(fetch, other)
                && !events.contains {
                    guard $0.kind == .fault, $0.start <= fetch.start else { return false }
                    let end = $0.end == 0 ? .max : $0.end + (isFault($0) ? recovery : hardshipRecovery)
                    guard !isFault($0), $0.key == 1 else { return end >= other.start }
                    return $0.instance == other.instance && end >= other.start
                        || $0.instance == fetch.instance && end >= fetch.start
                }
                && !events.contains { invalidation in
                    guard touches(invalidation, fetch.key), invalidation.start <= fetch.start else { return false }
                    let known = max(invalidation.start, invalidation.end)
                    let effect = invalidation.outcome == .done ? known : known + ambiguity
                    return effect + leaseLead >= other.start
                }
        }
    }

    /// Whether a read waited longer than it may while no instance fetched its key.
    func isOrphan(_ get: HistoryEvent) -> Bool {
        guard get.kind == .get, get.end != 0, !get.marks.contains(.together) else { return false }
        guard
            !events.contains(where: {
                isFault($0) && $0.start <= get.end && ($0.end == 0 || get.start <= $0.end + recovery)
            })
        else { return false }
        let fetches = events.filter { $0.kind == .fetch && $0.key == get.key }
            .map { (start: $0.start, end: $0.end == 0 ? $0.start + unfinished : $0.end) }
        // A time without fetches begins with the read or with the end of a fetch.
        for begin in [get.start] + fetches.map(\.end) where begin >= get.start && begin < get.end {
            if fetches.contains(where: { $0.start <= begin && begin < $0.end }) { continue }
            let next = fetches.filter { $0.start >= begin && $0.end > begin }.map(\.start).min() ?? .max
            let wait = (begin..<min(next, get.end))
                .filter { time in
                    !events.contains {
                        $0.kind == .fault && !isFault($0) && $0.start <= time && ($0.end == 0 || time < $0.end)
                    }
                }
            if wait.count > orphanLimit { return true }
        }
        return false
    }

    func findings() -> [Finding] {
        let origin = events.map(\.start).min() ?? 0
        var all: [Finding] = []
        for event in events {
            var kinds: [ViolationKind?] = [isOrphan(event) ? .orphanWait : nil]
            if event.kind == .get { kinds.append(verdict(event) ?? (goesBackwards(event) ? .backwards : nil)) }
            if event.kind == .fetch, isDouble(event) { kinds.append(.doubleFetch) }
            for kind in kinds.compactMap(\.self) {
                let name = "\(event.instance)"
                all.append(Finding(kind: kind, key: Int(event.key), instance: name, start: event.start - origin))
            }
        }
        return all.sorted()
    }
}

extension StalenessReport {
    /// The examples in the reference's form; all of them, if the checker was told to keep all.
    func findings() -> [ReferenceCheck.Finding] {
        examples.map {
            .init(
                kind: $0.kind,
                key: $0.key,
                instance: $0.instance,
                start: UInt64($0.start.components.attoseconds / 1_000_000_000) + UInt64($0.start.components.seconds)
                    * 1_000_000_000
            )
        }
        .sorted()
    }
}
