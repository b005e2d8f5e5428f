import Strata

extension MemoryLoad {
    /// Hits, misses and inserts at a small and a large level.
    func measureSpeed<Key: LoadKey>(_ type: Key.Type) async throws {
        let small = try await speed(Key.self, entries: small)
        let large = try await speed(Key.self, entries: large)
        let name = Key.name
        for (what, part) in [("hit", \MemoryTrial<Key>.Round.hit), ("miss", \.miss)] {
            let bare = what == "hit" ? \MemoryTrial<Key>.Round.bareHit : \.bareMiss
            let grown = zip(large.reads, small.reads).map { $0[keyPath: part] / $1[keyPath: part] }.median
            let bareGrown = zip(large.reads, small.reads).map { $0[keyPath: bare] / $1[keyPath: bare] }.median
            Measurement(
                name: "memory.\(what).\(name).flatness",
                value: grown / bareGrown,
                unit: "1",
                comparedTo: "what the bare dictionary loses from \(self.small) to \(self.large) entries: \(bareGrown)"
            )
            .print()
        }
        // An insert writes where nothing was, which no dictionary does without moving: so its growth beside a read's.
        let bareGrown = zip(large.reads, small.reads).map { $0.bareHit / $1.bareHit }.median
        let grown = zip(large.inserts, small.inserts).map { $0.insert / $1.insert }.median
        Measurement(
            name: "memory.insert_evict.\(name).flatness",
            value: grown / bareGrown,
            unit: "1",
            comparedTo: "what the bare dictionary's hit loses from \(self.small) to \(self.large) entries: \(bareGrown)"
        )
        .print()
    }

    private func speed<Key: LoadKey>(
        _ type: Key.Type,
        entries: Int
    ) async throws -> (reads: [MemoryTrial<Key>.Round], inserts: [MemoryTrial<Key>.Round]) {
        let trial = try await MemoryTrial<Key>(entries: entries, operations: operations)
        _ = try await trial.reads()
        var reads: [MemoryTrial<Key>.Round] = []
        for _ in 0..<rounds { reads.append(try await trial.reads()) }
        var inserts: [MemoryTrial<Key>.Round] = []
        for _ in 0..<max(rounds / 2, 3) { inserts.append(try await trial.inserts()) }
        let name = Key.name + (entries == small ? "" : ".large")
        let beside = "a bare striped dictionary of \(entries) entries, same run"
        Measurement(name: "memory.hit.\(name).ns", value: reads.map(\.hit).median, unit: "ns").print()
        Measurement(
            name: "memory.hit.\(name).ratio",
            value: reads.map { $0.hit / $0.bareHit }.median,
            unit: "1",
            comparedTo: beside
        )
        .print()
        Measurement(name: "memory.miss.\(name).ns", value: reads.map(\.miss).median, unit: "ns").print()
        Measurement(
            name: "memory.miss.\(name).ratio",
            value: reads.map { $0.miss / $0.bareMiss }.median,
            unit: "1",
            comparedTo: beside
        )
        .print()
        let isMain = Key.name == "string" && entries == small
        Measurement(name: "memory.insert_evict.\(name).ns", value: inserts.map(\.insert).median, unit: "ns").print()
        Measurement(
            name: isMain ? "memory.insert_evict.ratio" : "memory.insert_evict.\(name).ratio",
            value: inserts.map { $0.insert / $0.hit }.median,
            unit: "1",
            comparedTo: "a hit at the same level of \(entries) entries"
        )
        .print()
        return (reads, inserts)
    }
}
