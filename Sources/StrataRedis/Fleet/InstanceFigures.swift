/// What a record says, in figures that are fit for sums and for a screen, whatever it says.
package struct InstanceFigures: Sendable {
    /// Reads of a level.
    package struct Reads: Sendable, Hashable {
        package var hits = 0
        package var misses = 0

        package init(hits: Int = 0, misses: Int = 0) {
            self.hits = hits
            self.misses = misses
        }

        package var total: Int { hits + misses }

        /// Adds those of another level or instance.
        ///
        /// A sum that is too large stays the largest number: any user who may write to the keyspace can write records.
        package mutating func add(_ other: Reads) {
            (hits, misses) = (Self.sum(hits, other.hits), Self.sum(misses, other.misses))
        }

        private static func sum(_ one: Int, _ other: Int) -> Int { min(one + min(other, most), most) }

        /// So that two of them can be added.
        private static let most = Int.max / 4

        /// The share of hits; `nil` without reads.
        package var ratio: Double? { total == 0 ? nil : Double(hits) / Double(total) }
    }

    /// More than any count of a process, and little enough to add up those of thousands.
    private static let most = 1 << 48

    /// By level, as `memory` or `fetching.redis`, the upper ones first.
    package private(set) var reads: [(level: String, reads: Reads)] = []
    package private(set) var fetches = 0
    package private(set) var failedFetches = 0
    package private(set) var waits = 0
    package private(set) var evictions = 0
    package private(set) var entries: Int?
    package private(set) var weight: Int?
    package private(set) var limit: Int?
    /// The roles whose breakers are open, such as `read`.
    package private(set) var openBreakers: [String] = []
    /// The roles whose next call decides; also those that were not used since an outage.
    package private(set) var halfOpenBreakers: [String] = []
    package private(set) var pendingInvalidations = 0
    /// Whether changes made elsewhere are not told.
    package private(set) var isUntrusted = false

    package init(_ record: InstanceRecord) {
        isUntrusted = record.link != nil
        for level in record.levels.prefix(64) {
            func count(_ name: String) -> Int? { level.counters[name].map { min(max($0, 0), Self.most) } }
            let path = level.path.split(separator: ".").drop { $0 == "composed" }.joined(separator: ".")
            if let hits = count("hits"), let misses = count("misses") {
                // What is void or unusable is no hit.
                let useless = (count("unusable") ?? 0) + (count("voided") ?? 0)
                // What a replica has answered while its primary was away is none of the hits.
                let replicated = count("replica_hits") ?? 0
                reads.append((path, Reads(hits: hits + replicated, misses: misses + useless)))
            }
            fetches += count("fetches") ?? 0
            failedFetches += count("failed_fetches") ?? 0
            waits += count("waits") ?? 0
            pendingInvalidations = max(pendingInvalidations, count("pending_invalidations") ?? 0)
            if count("untrusted") ?? 0 > 0 { isUntrusted = true }
            for role in RedisRole.allCases { note(count("breaker_\(role.rawValue)") ?? 0, of: role.rawValue) }
            guard let held = count("entries"), let most = count("limit") else { continue }
            entries = (entries ?? 0) + held
            weight = (weight ?? 0) + (count("weight") ?? held)
            limit = (limit ?? 0) + most
            evictions += count("evictions") ?? 0
        }
    }

    /// Takes the state of a breaker as one level tells it; the worst counts.
    private mutating func note(_ state: Int, of role: String) {
        guard state > 0, !openBreakers.contains(role) else { return }
        if state > 1 {
            openBreakers.append(role)
            halfOpenBreakers.removeAll { $0 == role }
        } else if !halfOpenBreakers.contains(role) {
            halfOpenBreakers.append(role)
        }
    }

    /// Reads of the uppermost level.
    package var requests: Int { reads.first?.reads.total ?? 0 }
}
