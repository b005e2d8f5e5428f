import FleetChecker

/// A fleet with a shared cache in simulated time, built to keep its promises: what it does must pass every check.
///
/// It follows the rules of the real one: a fill commits only with a ticket that no notice has voided, a store only with
/// the lease, an invalidation drops locally before it returns and reaches the others within `delay`. Instances are
/// killed in the middle of what they do. The same seed gives the same history.
final class SimulatedFleet {
    struct Plan {
        var keys = 6
        var instances = 4
        var operations = 2_000
        /// How long a notice may take from the change in the shared cache to another instance's memory.
        var delay: UInt64 = 2_000
        var initialVersion: UInt64 = 1
        /// One in so many operations kills its instance, which comes back as a new one; 0 for none.
        var kills: UInt64 = 200
        var tags = 3
        /// Whether an instance remembers the newest version it ever gave, and gives nothing older.
        ///
        /// The cache's own rules do not see to that: a fill that a notice has voided leaves an older version in memory,
        /// for as long as the bound allows, after its own caller has been given the newer one.
        var remembers = true
    }

    private struct Instance {
        var memory: [UInt64?]
        /// Voids the tickets of the key's fills by growing.
        var epochs: [UInt64]
        var newestSeen: [UInt64]
        var isAlive = true
    }

    private struct Lease {
        var holder: Int
        var number: UInt64
    }

    let plan: Plan
    let run: VersionedRun
    private(set) var events: [HistoryEvent] = []
    private var generator: SeededGenerator
    private var queue = TimedQueue()
    private var truth: [UInt64]
    private var shared: [UInt64?]
    private var leases: [Lease?]
    private var nextLease: UInt64 = 1
    private var instances: [Instance] = []
    private var started = 0

    init(_ plan: Plan, seed: UInt64) throws {
        self.plan = plan
        run = try VersionedRun(keyCount: plan.keys, seed: seed, initialVersion: plan.initialVersion)
        generator = SeededGenerator(seed: seed)
        truth = Array(repeating: plan.initialVersion, count: plan.keys)
        shared = Array(repeating: nil, count: plan.keys)
        leases = Array(repeating: nil, count: plan.keys)
    }

    /// Which keys carry which tag: the remainder of the key's number.
    var tags: [Int: [Int]] {
        Dictionary(grouping: 0..<plan.keys) { $0 % plan.tags }
    }

    func history() -> History {
        for _ in 0..<plan.instances { startInstance() }
        while let (time, step) = queue.next() { step(time) }
        return History(run: run, events: events)
    }

    // MARK: Instances

    private func startInstance(at time: UInt64 = 1) {
        instances.append(
            Instance(
                memory: Array(repeating: nil, count: plan.keys),
                epochs: Array(repeating: 0, count: plan.keys),
                newestSeen: Array(repeating: 0, count: plan.keys)
            )
        )
        // Two tasks for each instance, so that its operations overlap.
        for _ in 0..<2 { think(instances.count - 1, time) }
    }

    private func think(_ me: Int, _ time: UInt64) {
        after(time, upTo: 300, me) { [self] time in
            guard started < plan.operations else { return }
            started += 1
            if plan.kills > 0, generator.once(in: plan.kills) {
                instances[me].isAlive = false
                startInstance(at: time)
                return
            }
            let key = Int.random(in: 0..<plan.keys, using: &generator)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<80: get(key, me, start: time)
            case 80..<92: change(key, me, start: time)
            case 92..<95: invalidate(.key(key), knowing: 0, me, start: time)
            case 95..<97: invalidate(.tag(key % plan.tags), knowing: 0, me, start: time)
            case 97: invalidate(.all, knowing: 0, me, start: time)
            case 98: instances[me].memory[key] = nil; think(me, time)
            default: shared[key] = nil; think(me, time)
            }
        }
    }

    /// Goes on a while later, unless the instance has been killed by then.
    private func after(_ time: UInt64, upTo delay: UInt64, _ me: Int, _ step: @escaping (UInt64) -> Void) {
        let later = time + UInt64.random(in: 1...delay, using: &generator)
        queue.add(later) { [self] time in
            if instances[me].isAlive { step(time) }
        }
    }

    // MARK: Reads

    private func get(_ key: Int, _ me: Int, start: UInt64) {
        if generator.once(in: 50) {
            let outcome: HistoryEvent.Outcome = generator.once(in: 2) ? .miss : .failed
            finishGet(key, me, start: start, version: 0, outcome: outcome, at: start)
        } else if generator.once(in: 40) {
            let older = UInt64.random(in: plan.initialVersion...truth[key], using: &generator)
            finishGet(
                key,
                me,
                start: start,
                version: older,
                marks: generator.once(in: 2) ? .stale : .suspect,
                at: start
            )
        } else {
            after(start, upTo: 50, me) { [self] time in look(key, me, start: start, time) }
        }
    }

    private func look(_ key: Int, _ me: Int, start: UInt64, _ time: UInt64) {
        if let version = instances[me].memory[key] {
            return finishGet(key, me, start: start, version: version, from: .memory, at: time)
        }
        let ticket = instances[me].epochs[key]
        after(time, upTo: 400, me) { [self] time in
            if let version = shared[key] {
                after(time, upTo: 400, me) { [self] time in
                    fill(key, me, version, ticket)
                    finishGet(key, me, start: start, version: version, from: .redis, at: time)
                }
            } else if leases[key] == nil {
                leases[key] = Lease(holder: me, number: nextLease)
                nextLease += 1
                fetch(key, me, start: start, ticket, nextLease - 1, time)
            } else {
                // Held: by a killed instance it runs out in the end, else its holder will be done.
                if let lease = leases[key], !instances[lease.holder].isAlive, generator.once(in: 8) {
                    leases[key] = nil
                }
                look(key, me, start: start, time)
            }
        }
    }

    private func fetch(_ key: Int, _ me: Int, start: UInt64, _ ticket: UInt64, _ lease: UInt64, _ time: UInt64) {
        let record = begin(.fetch, me, UInt32(key), time)
        after(time, upTo: 300, me) { [self] time in
            let version = truth[key]
            after(time, upTo: 300, me) { [self] time in
                end(record, version == 0 ? .absent : .value, version, time)
                after(time, upTo: 200, me) { [self] time in
                    if leases[key]?.number == lease {
                        shared[key] = version
                        leases[key] = nil
                        after(time, upTo: 200, me) { [self] time in
                            fill(key, me, version, ticket)
                            finishGet(key, me, start: start, version: version, from: .source, at: time)
                        }
                    } else {
                        // Refused: returned to its own caller, and kept nowhere.
                        finishGet(key, me, start: start, version: version, from: .source, at: time)
                    }
                }
            }
        }
    }

    private func fill(_ key: Int, _ me: Int, _ version: UInt64, _ ticket: UInt64) {
        guard instances[me].epochs[key] == ticket, version >= instances[me].newestSeen[key] else { return }
        instances[me].memory[key] = version
    }

    private func finishGet(
        _ key: Int,
        _ me: Int,
        start: UInt64,
        version: UInt64,
        from level: ReadLevel = .unknown,
        marks: ReadMarks = [],
        outcome: HistoryEvent.Outcome? = nil,
        at time: UInt64
    ) {
        var version = version
        if plan.remembers, marks.isEmpty, outcome == nil { version = max(version, instances[me].newestSeen[key]) }
        let outcome = outcome ?? (version == 0 ? .absent : .value)
        events.append(
            HistoryEvent(
                .get,
                outcome,
                instance: UInt32(me),
                key: UInt32(key),
                start: start,
                end: time + 1,
                version: version,
                level: level,
                marks: marks
            )
        )
        instances[me].newestSeen[key] = max(version, instances[me].newestSeen[key])
        think(me, time + 1)
    }

    // MARK: Changes

    private func change(_ key: Int, _ me: Int, start: UInt64) {
        let record = begin(.write, me, UInt32(key), start)
        after(start, upTo: 100, me) { [self] time in
            truth[key] += 1
            let version = truth[key]
            after(time, upTo: 100, me) { [self] time in
                end(record, .value, version, time)
                invalidate(.key(key), knowing: generator.once(in: 2) ? version : 0, me, start: time + 1)
            }
        }
    }

    private func invalidate(_ scope: InvalidationScope, knowing version: UInt64, _ me: Int, start: UInt64) {
        let keys: [Int]
        let record: Int
        switch scope {
        case .key(let key):
            keys = [key]
            record = begin(.invalidateKey, me, UInt32(key), start, version)
        case .tag(let tag):
            keys = tags[tag] ?? []
            record = begin(.invalidateTag, me, UInt32(tag), start)
        case .all:
            keys = Array(0..<plan.keys)
            record = begin(.invalidateAll, me, 0, start)
        }
        let draw = Int.random(in: 0..<30, using: &generator)
        after(start, upTo: 200, me) { [self] time in
            // A failed one may have had its effect or not.
            if draw != 0 { takeEffect(keys, me, time) }
            after(time, upTo: 200, me) { [self] time in
                end(record, draw < 2 ? .failed : .done, version, time)
                think(me, time)
            }
        }
    }

    private func takeEffect(_ keys: [Int], _ me: Int, _ time: UInt64) {
        for key in keys {
            shared[key] = nil
            leases[key] = nil
            hear(key, me)
            for other in instances.indices where other != me {
                after(time, upTo: plan.delay, other) { [self] _ in hear(key, other) }
            }
        }
    }

    private func hear(_ key: Int, _ instance: Int) {
        instances[instance].memory[key] = nil
        instances[instance].epochs[key] += 1
    }

    // MARK: Records

    private func begin(_ kind: HistoryEvent.Kind, _ me: Int, _ key: UInt32, _ time: UInt64, _ version: UInt64 = 0)
        -> Int
    {
        events.append(HistoryEvent(kind, .open, instance: UInt32(me), key: key, start: time, end: 0, version: version))
        return events.count - 1
    }

    private func end(_ record: Int, _ outcome: HistoryEvent.Outcome, _ version: UInt64, _ time: UInt64) {
        events[record].outcome = outcome
        events[record].version = version
        events[record].end = time
    }
}
