#if Dashboard
import StrataRedis

/// What the page of a keyspace shows of one moment.
struct DashboardSample: Encodable {
    /// Hits since the sample before.
    struct Hits: Encodable {
        let level: String
        /// Of a hundred reads; missing where nothing was read.
        let percent: Double?
    }

    /// How long a kind of work took at the slowest instance, in milliseconds.
    struct Spans: Encodable {
        let median: Double
        let p95: Double
        let p99: Double
    }

    struct Grid: Encodable {
        let titles: [String]
        let rows: [[String]]
    }

    let instances: Int
    let silent: Int
    let readsPerSecond: Double
    let fetchesPerSecond: Double
    let hits: [Hits]
    /// By the kind of work: `call`, `fetch`, `wait`.
    let spans: [String: Spans]
    let table: Grid
    let hottest: [String]
    let leases: Grid

    init(
        _ page: TopPage,
        _ sample: FleetSample,
        _ rates: FleetRates,
        _ leases: [LeaseInspection]
    ) {
        instances = sample.members.count
        silent = sample.members.count { $0.isSilent }
        readsPerSecond = rates.total.requests
        fetchesPerSecond = rates.total.fetches
        hits = rates.total.reads.prefix(4)
            .map { level, reads in
                let name = level.split(separator: ".").last.map(String.init) ?? "cache"
                return Hits(level: InstanceText.printable(name), percent: reads.ratio.map { $0 * 100 })
            }
        var spans: [String: Spans] = [:]
        for kind in ["call", "fetch", "wait"] {
            let all = sample.members.compactMap { $0.record?.durations[kind] }.filter { $0.count > 0 }
            guard !all.isEmpty else { continue }
            func slowest(_ value: KeyPath<InstanceRecord.Durations, Int>) -> Double {
                Double(max(all.map { $0[keyPath: value] }.max() ?? 0, 0)) / 1000
            }
            spans[kind] = Spans(median: slowest(\.median), p95: slowest(\.p95), p99: slowest(\.p99))
        }
        self.spans = spans
        table = Grid(titles: page.table.columns.map(\.title), rows: page.cells)
        hottest = page.hottestKeys
        self.leases = Grid(
            titles: ["KEY", "LEASE"],
            rows: leases.map { lease in
                [lease.key.escaped, lease.failure == nil ? LeaseText.lease(lease) : LeaseText.failure(lease)]
            }
        )
    }
}
#endif
