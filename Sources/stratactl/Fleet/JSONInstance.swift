import StrataRedis

/// An instance in JSON.
struct JSONInstance: Encodable {
    struct Level: Encodable {
        let level: String
        let hits: Int
        let misses: Int
        let hitRatio: Double?
    }

    struct Durations: Encodable {
        let count: Int
        let medianMicroseconds: Int
        let p95Microseconds: Int
        let p99Microseconds: Int

        init(_ durations: InstanceRecord.Durations) {
            count = max(durations.count, 0)
            medianMicroseconds = max(durations.median, 0)
            p95Microseconds = max(durations.p95, 0)
            p99Microseconds = max(durations.p99, 0)
        }
    }

    struct Memory: Encodable {
        let entries: Int
        let weight: Int?
        let limit: Int?
        let evictions: Int
    }

    let keyspace: String
    let number: String
    /// `listed`, `missing` for one without a record, or `unusable`.
    let state: String
    /// How long it stays listed if it tells no more.
    let listedForSeconds: Double
    let name: String?
    let version: String?
    let host: String?
    let process: Int?
    let uptimeSeconds: Double?
    /// Why changes made elsewhere are not told; missing while they are.
    let untrusted: String?
    let openBreakers: [String]?
    let halfOpenBreakers: [String]?
    let pendingInvalidations: Int?
    let requests: Int?
    let levels: [Level]?
    let fetches: Int?
    let failedFetches: Int?
    let waits: Int?
    let memory: Memory?
    let durations: [String: Durations]?

    init(_ instance: FleetInstance, _ keyspace: Keyspace) {
        self.keyspace = keyspace.description
        number = instance.number
        listedForSeconds = TimeSpan.seconds(instance.timeLeft)
        let record = instance.record
        let figures = record.map { InstanceFigures($0) }
        state =
            switch instance.content {
            case .record: "listed"
            case .missing: "missing"
            case .unusable: "unusable"
            }
        name = record?.name
        version = record?.version
        host = record?.host
        process = record?.process
        uptimeSeconds = record.map { Double(max($0.uptime, 0)) / 1000 }
        untrusted = record?.link
        openBreakers = figures?.openBreakers
        halfOpenBreakers = figures?.halfOpenBreakers
        pendingInvalidations = figures?.pendingInvalidations
        requests = figures?.requests
        levels = figures?.reads
            .map {
                Level(level: $0.level, hits: $0.reads.hits, misses: $0.reads.misses, hitRatio: $0.reads.ratio)
            }
        fetches = figures?.fetches
        failedFetches = figures?.failedFetches
        waits = figures?.waits
        memory = figures.flatMap { figures in
            figures.entries.map {
                Memory(entries: $0, weight: figures.weight, limit: figures.limit, evictions: figures.evictions)
            }
        }
        durations = record.map { record in
            Dictionary(record.durations.sorted { $0.key < $1.key }.prefix(8).map { ($0.key, Durations($0.value)) }) {
                $1
            }
        }
    }
}
