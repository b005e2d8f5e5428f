/// The first pass over a history: what there is, and what concerns more than one key.
struct HistorySurvey {
    private(set) var totals = HistoryTotals()
    private(set) var instances: [String] = []
    private(set) var origin: UInt64 = .max
    private(set) var faults: [HistoryEvent] = []
    /// How many events each key has of its own.
    private(set) var eventsPerKey: [Int]
    /// Until when each instance is known to have lived whose life is recorded.
    private(set) var lives: [UInt32: UInt64] = [:]
    private var last: UInt64 = 0
    private var ofAllKeys: [HistoryEvent] = []
    private var ofTags: [UInt32: [HistoryEvent]] = [:]
    private var tagsOfKey: [Int: [UInt32]] = [:]

    init(_ history: History, tags: [Int: [Int]]) throws(CheckerError) {
        eventsPerKey = Array(repeating: 0, count: history.run.keyCount)
        for (tag, keys) in tags {
            guard let number = UInt32(exactly: tag) else { continue }
            for key in keys { tagsOfKey[key, default: []].append(number) }
        }
        let pass = try history.visit { add($0, isMapped: { tags[Int($0)] != nil }) }
        instances = pass.instances
        totals.instances = pass.instanceCount
        totals.dropped = pass.dropped
        totals.lost = pass.lost
        totals.torn = pass.torn
        totals.unreadable = pass.unreadable
        totals.keys = eventsPerKey.count { $0 > 0 }
        totals.span = .nanoseconds(Int64(clamping: last.subtractingSaturating(origin)))
    }

    /// The invalidations of tags and of everything that touch a key.
    func widespread(for key: Int) -> [HistoryEvent] {
        guard let tags = tagsOfKey[key] else { return ofAllKeys }
        return tags.reduce(into: ofAllKeys) { $0 += ofTags[$1] ?? [] }
    }

    private mutating func add(_ event: HistoryEvent, isMapped: (UInt32) -> Bool) {
        totals.events += 1
        origin = min(origin, event.start)
        last = max(last, event.start, event.end)
        if let seen = lives[event.instance], event.kind != .fault {
            lives[event.instance] = max(seen, event.start, event.end)
        }
        switch event.kind {
        case .get:
            eventsPerKey[Int(event.key)] += 1
            totals.gets += 1
            switch event.outcome {
            case .absent: totals.absences += 1
            case .miss: totals.misses += 1
            case .failed: totals.failedGets += 1
            case .open, .value, .stranger, .forged, .done: break
            }
        case .write:
            eventsPerKey[Int(event.key)] += 1
            totals.writes += 1
            if event.outcome != .value { totals.unknownWrites += 1 }
        case .fetch:
            eventsPerKey[Int(event.key)] += 1
        case .invalidateKey, .set:
            eventsPerKey[Int(event.key)] += 1
            countInvalidation(event)
        case .invalidateTag:
            countInvalidation(event)
            if !isMapped(event.key) { totals.unmappedInvalidations += 1 }
            ofTags[event.key, default: []].append(event)
        case .invalidateAll:
            countInvalidation(event)
            ofAllKeys.append(event)
        case .instance: lives[event.instance] = max(lives[event.instance] ?? 0, event.start, event.end)
        case .fault:
            totals.faults += 1
            faults.append(event)
        }
    }

    private mutating func countInvalidation(_ event: HistoryEvent) {
        totals.invalidations += 1
        if event.outcome != .done { totals.unknownInvalidations += 1 }
    }
}
