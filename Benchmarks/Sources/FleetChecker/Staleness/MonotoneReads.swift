/// The rule that an instance never reads an older version than one it has read before.
enum MonotoneReads {
    /// A read of one key that gave a version that exists.
    struct Read {
        var get: HistoryEvent
        /// Whether it may be held against the instance: not if it was marked, or is reported already.
        var mayBeReported: Bool
    }

    /// Finds the reads that gave an older version than a read that ended before they began.
    ///
    /// O(n log n).
    static func check(_ reads: [Read], _ report: (_ get: HistoryEvent, _ earlier: HistoryEvent) -> Void) {
        guard !reads.isEmpty else { return }
        let begun = reads.sorted { ($0.get.instance, $0.get.start) < ($1.get.instance, $1.get.start) }
        let ended = reads.sorted { ($0.get.instance, $0.get.end) < ($1.get.instance, $1.get.end) }
        var next = 0
        var newest: HistoryEvent?
        for read in begun {
            let get = read.get
            if let seen = newest, seen.instance != get.instance { newest = nil }
            while next < ended.count, (ended[next].get.instance, ended[next].get.end) < (get.instance, get.start) {
                let other = ended[next].get
                if other.instance == get.instance, other.version >= newest?.version ?? 0 { newest = other }
                next += 1
            }
            if read.mayBeReported, let newest, get.version < newest.version { report(get, newest) }
        }
    }
}
