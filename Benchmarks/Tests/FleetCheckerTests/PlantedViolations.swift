import FleetChecker

/// A correct history into which violations are planted, one by one, each the only thing wrong with its read or fetch.
struct PlantedViolations {
    private(set) var events: [HistoryEvent]
    private(set) var planted: [ReferenceCheck.Finding] = []
    private let fleet: SimulatedFleet
    private let reference: ReferenceCheck
    private let origin: UInt64
    private var touched: Set<Int> = []
    private var generator: SeededGenerator

    init(_ fleet: SimulatedFleet, seed: UInt64) {
        self.fleet = fleet
        events = fleet.events
        origin = events.map(\.start).min() ?? 0
        reference = ReferenceCheck(
            events: fleet.events,
            initialVersion: fleet.plan.initialVersion,
            tags: fleet.tags,
            fleetBound: fleet.plan.delay,
            ownBound: 0,
            faultBound: 0,
            recovery: 0,
            leaseLead: 0,
            ambiguity: 0
        )
        generator = SeededGenerator(seed: seed)
    }

    /// Plants a violation of a kind somewhere; false if there is no place for one.
    mutating func plant(_ kind: ViolationKind) -> Bool {
        for index in events.indices.shuffled(using: &generator) where !touched.contains(index) {
            guard let damaged = damage(index, kind) else { continue }
            if kind == .doubleFetch {
                events.append(damaged)
                touched.insert(events.count - 1)
            } else {
                events[index] = damaged
                touched.insert(index)
            }
            planted.append(
                .init(
                    kind: kind,
                    key: Int(damaged.key),
                    instance: "\(damaged.instance)",
                    start: damaged.start - origin
                )
            )
            return true
        }
        return false
    }

    private mutating func damage(_ index: Int, _ kind: ViolationKind) -> HistoryEvent? {
        var event = events[index]
        if kind == .doubleFetch { return secondFetch(beside: event) }
        guard event.kind == .get, event.marks.isEmpty, [.value, .absent].contains(event.outcome) else { return nil }
        switch kind {
        case .orphanWait:
            // Longer than everything that is done in the history, and than the rule allows.
            event.end = (events.map(\.end).max() ?? 0) + 2 * SimulatedFleet.orphanLimit
            return event
        case .forged:
            event.outcome = .forged
            return event
        case .stranger:
            event.outcome = .stranger
            event.version = UInt64(fleet.plan.keys - 1) << 32
            return event
        case .thinAir:
            event.outcome = .value
            event.version = versionFromTheFuture(of: event) ?? UInt64.random(in: 1 << 20...1 << 60, using: &generator)
            return event
        case .stale:
            return aged(event, from: 0, below: required(event, bound: fleet.plan.delay))
        case .ownStale:
            let own = reference.required(event.key, at: event.start, bound: 0, by: event.instance)
            return aged(event, from: required(event, bound: fleet.plan.delay), below: own)
        case .backwards:
            let own = reference.required(event.key, at: event.start, bound: 0, by: event.instance)
            let lowest = max(own, required(event, bound: fleet.plan.delay))
            for (other, earlier) in events.enumerated() where !touched.contains(other) {
                guard earlier.kind == .get, earlier.key == event.key, earlier.instance == event.instance,
                    earlier.end < event.start, earlier.outcome == .value,
                    let damaged = aged(event, from: lowest, below: min(earlier.version, event.version))
                else { continue }
                touched.insert(other)
                return damaged
            }
            return nil
        case .doubleFetch:
            return nil
        }
    }

    private func required(_ get: HistoryEvent, bound: UInt64) -> UInt64 {
        reference.required(get.key, at: get.start, bound: bound)
    }

    /// The read with a version in a range that was really written; nil if there is none.
    private mutating func aged(_ get: HistoryEvent, from low: UInt64, below high: UInt64) -> HistoryEvent? {
        guard low < high else { return nil }
        var get = get
        let candidates = (low..<high).filter { reference.isWritten($0, get.key, by: get.end) }
        guard let version = candidates.randomElement(using: &generator) else { return nil }
        get.version = version
        get.outcome = version == 0 ? .absent : .value
        return get
    }

    private mutating func versionFromTheFuture(of get: HistoryEvent) -> UInt64? {
        events.filter { $0.kind == .write && $0.key == get.key && $0.start > get.end && $0.version > 0 }
            .randomElement(using: &generator)?
            .version
    }

    /// A fetch by an instance that did nothing else, too short to overlap with more than the one it is meant for.
    private mutating func secondFetch(beside fetch: HistoryEvent) -> HistoryEvent? {
        guard fetch.kind == .fetch, fetch.end > fetch.start + 1 else { return nil }
        let start = UInt64.random(in: fetch.start + 1..<fetch.end, using: &generator)
        let second = Scripted.fetch(1, key: fetch.key, by: 1_000, start...start)
        var alone = reference
        alone = ReferenceCheck(
            events: [fetch, second] + events.filter { reference.touches($0, fetch.key) },
            initialVersion: reference.initialVersion,
            tags: reference.tags,
            fleetBound: 0,
            ownBound: 0,
            faultBound: 0,
            recovery: 0,
            leaseLead: 0,
            ambiguity: 0
        )
        return alone.isDouble(second) ? second : nil
    }
}
