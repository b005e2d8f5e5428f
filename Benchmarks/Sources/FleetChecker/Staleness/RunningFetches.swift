/// One instance's fetches of a key that may run while another instance's begins.
///
/// Kept by start, with ends that fall: a fetch that began no later and ended no later than another can be left out,
/// since whatever meets it meets the other one too, and that one loses its excuse later.
struct RunningFetches {
    let instance: UInt32
    private var fetches: [HistoryEvent]
    private var head = 0

    init(_ fetch: HistoryEvent) {
        instance = fetch.instance
        fetches = [fetch]
    }

    /// The one that runs longest.
    var longest: HistoryEvent? { head < fetches.count ? fetches[head] : nil }

    mutating func add(_ fetch: HistoryEvent) {
        while fetches.count > head, let last = fetches.last, last.end <= fetch.end { fetches.removeLast() }
        fetches.append(fetch)
    }

    /// Leaves out what is over by a time, and what began no later than an invalidation that has voided it.
    mutating func prune(by time: UInt64, voidedUntil voided: UInt64) {
        while fetches.count > head, let last = fetches.last, last.end <= time { fetches.removeLast() }
        while head < fetches.count, fetches[head].start <= voided { head += 1 }
    }
}
