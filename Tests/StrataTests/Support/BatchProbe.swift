import Strata

/// A level that answers several keys at once, and takes down which keys it was asked for together.
final class BatchProbe: CacheLevel {
    let inner: ProbeLevel
    private let asked = Locked<[[String]]>([])

    init(_ values: [String: Int] = [:]) {
        inner = ProbeLevel(values)
    }

    /// The keys of each call for several keys.
    var batches: [[String]] { asked.withLock { $0 } }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        try await inner.entry(for: key, request)
    }

    func entries(for keys: [String], _ request: ReadRequest) async throws -> [Entry<Int>?] {
        asked.withLock { $0.append(keys) }
        var entries: [Entry<Int>?] = []
        for key in keys { entries.append(try await inner.entry(for: key, request)) }
        return entries
    }

    func store(_ entry: Entry<Int>, for key: String) async throws { try await inner.store(entry, for: key) }
    func remove(_ key: String) async throws { try await inner.remove(key) }
    func removeAll() async throws { try await inner.removeAll() }
    func relieve(_ pressure: MemoryPressure) { inner.relieve(pressure) }
}
