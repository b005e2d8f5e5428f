import Strata

extension MemoryLoad {
    /// What an entry takes beside its key and value, by the size of the process.
    func measureSize() async throws {
        try await size("memory.bytes_per_entry", "a number for a number") { level, number in
            try await level.set(number, for: number)
        }
        try await size("memory.bytes_per_entry.expiring", "with a lifetime") { level, number in
            let entry = Entry(.value(number), freshUntil: .coarse.advanced(by: .seconds(3600 + number % 3600)))
            try await level.store(entry, for: number)
        }
        try await size("memory.bytes_per_entry.detailed", "with all that Redis tells of it, and no tags") {
            level,
            number in
            let end = MonotonicInstant.coarse.advanced(by: .seconds(3600 + number % 3600))
            let entry = Entry(
                .value(number),
                freshUntil: end,
                staleUntil: end.advanced(by: .seconds(60)),
                version: .random(),
                fetchDuration: .milliseconds(3)
            )
            try await level.store(entry, for: number)
        }
    }

    private func size(
        _ name: String,
        _ what: String,
        _ store: (MemoryLevel<Int, Int>, Int) async throws -> Void
    ) async throws {
        guard let before = ResidentSize.bytes else { return }
        let level = MemoryLevel<Int, Int>(limit: .entries(large))
        for number in 0..<large { try await store(level, number) }
        guard let after = ResidentSize.bytes else { return }
        precondition(level.statistics.entries == large)
        let own = 2 * MemoryLayout<Int>.size
        let value = Double(after - before) / Double(large) - Double(own)
        Measurement(name: name, value: value, unit: "B", comparedTo: "\(large) entries, \(what)").print()
    }
}
