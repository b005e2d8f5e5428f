import Strata
import StrataRedis

/// What the instances of a keyspace tell at one moment.
struct FleetSample: Sendable {
    /// An instance with what it has answered; with its record of some seconds ago where it has not.
    struct Member: Sendable {
        let instance: FleetInstance
        let isSilent: Bool

        var record: InstanceRecord? { instance.record }

        var figures: InstanceFigures? { record.map { InstanceFigures($0) } }
    }

    let members: [Member]
    let more: Bool

    /// Asks the instances that are listed.
    static func take(_ inspector: FleetInspector, limit: Int, hottest: Int, within time: Duration) async throws
        -> FleetSample
    {
        let listing = try await inspector.instances(limit: limit)
        let answers = try await inspector.figures(of: listing.instances, hottest: hottest, within: time)
        let members = listing.instances.map { instance in
            if case .content(let record) = answers[instance.number] {
                return Member(instance: instance.telling(record), isSilent: false)
            }
            return Member(instance: instance, isSilent: true)
        }
        return FleetSample(members: members, more: listing.more)
    }
}

/// What has happened between two samples, each second.
struct FleetRates: Sendable {
    struct Row: Sendable {
        var requests = 0.0
        var fetches = 0.0
        var failedFetches = 0.0
        var waits = 0.0
        /// By level, in the order of the instance.
        var reads: [(level: String, reads: InstanceFigures.Reads)] = []

        mutating func add(_ other: Row) {
            requests += other.requests
            fetches += other.fetches
            failedFetches += other.failedFetches
            waits += other.waits
            for (level, more) in other.reads {
                let place = reads.firstIndex { $0.level == level } ?? reads.count
                if place == reads.count { reads.append((level, .init())) }
                reads[place].reads.add(more)
            }
        }
    }

    /// By the numbers of the instances.
    private(set) var rows: [String: Row] = [:]
    private(set) var total = Row()

    init(from before: FleetSample?, to now: FleetSample) {
        let earlier = Dictionary((before?.members ?? []).map { ($0.instance.number, $0) }) { $1 }
        for member in now.members {
            guard let row = Self.row(from: earlier[member.instance.number], to: member) else { continue }
            rows[member.instance.number] = row
            total.add(row)
        }
    }

    /// The time between two records is that of the instance's own clock; none where it has begun anew, or tells nothing
    /// new.
    private static func row(from before: FleetSample.Member?, to now: FleetSample.Member) -> Row? {
        guard let old = before?.record, let new = now.record, old.uptime >= 0, new.uptime > old.uptime,
            new.uptime < 1 << 50, let first = before?.figures, let last = now.figures
        else { return nil }
        let seconds = Double(new.uptime - old.uptime) / 1000
        func rate(_ count: KeyPath<InstanceFigures, Int>) -> Double {
            Double(max(last[keyPath: count] - first[keyPath: count], 0)) / seconds
        }
        var row = Row(
            requests: rate(\.requests),
            fetches: rate(\.fetches),
            failedFetches: rate(\.failedFetches),
            waits: rate(\.waits)
        )
        for (level, reads) in last.reads {
            guard let earlier = first.reads.first(where: { $0.level == level })?.reads else { continue }
            let grown = InstanceFigures.Reads(
                hits: max(reads.hits - earlier.hits, 0),
                misses: max(reads.misses - earlier.misses, 0)
            )
            row.reads.append((level, grown))
        }
        return row
    }
}
