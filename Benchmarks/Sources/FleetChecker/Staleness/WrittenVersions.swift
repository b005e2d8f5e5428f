/// When each version of one key was written, as far as it is known.
///
/// A process that is killed in a write may have counted the version up without recording which one it was. So a version
/// that was seen and not recorded is granted to such a write, one version to each at most, and only if that
/// write had begun when the version was first seen. Sorting both by time and granting in that order finds
/// a complete assignment if there is one.
struct WrittenVersions {
    private let initialVersion: UInt64
    private var known: [(version: UInt64, start: UInt64)]
    private var granted: [UInt64: UInt64] = [:]
    private var returned = VersionTimeline()

    /// Takes the writes of a key, and its reads to find the versions that were not recorded.
    init(initialVersion: UInt64, writes: [HistoryEvent], gets: [HistoryEvent]) {
        self.initialVersion = initialVersion
        known = writes.filter { $0.version > initialVersion }.map { ($0.version, $0.start) }
        known.sort { $0.version < $1.version || $0.version == $1.version && $0.start < $1.start }
        let successes = writes.filter { $0.hasEnded && $0.outcome == .value }
        for write in successes.sorted(by: { $0.end < $1.end }) {
            returned.add(.init(time: write.end, version: write.version, instance: write.instance))
        }
        grant(to: writes.filter { $0.version == 0 }.map(\.start).sorted(), gets)
    }

    private mutating func grant(to starts: [UInt64], _ gets: [HistoryEvent]) {
        guard !starts.isEmpty else { return }
        var firstSeen: [UInt64: UInt64] = [:]
        for get in gets where get.outcome == .value && get.version > initialVersion {
            if recordedStart(of: get.version) == nil {
                firstSeen[get.version] = min(firstSeen[get.version] ?? .max, get.end)
            }
        }
        var next = 0
        for (version, seen) in firstSeen.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            guard next < starts.count else { return }
            if starts[next] <= seen {
                granted[version] = starts[next]
                next += 1
            }
        }
    }

    private func recordedStart(of version: UInt64) -> UInt64? {
        let index = known.firstIndexOfSorted { $0.version >= version }
        return index < known.count && known[index].version == version ? known[index].start : nil
    }

    /// When the write of a version began; nil if no write made it.
    ///
    /// The initial version was there from the beginning, versions below it never were.
    func start(of version: UInt64) -> UInt64? {
        if version <= initialVersion { return version == initialVersion ? 0 : nil }
        return recordedStart(of: version) ?? granted[version]
    }

    /// The newest version whose write had returned by a time.
    func newest(by time: UInt64) -> UInt64 {
        max(initialVersion, returned.last(by: time)?.version ?? 0)
    }
}
