/// When the fetches begun so far end at the latest: the greatest end, and the greatest of all other instances.
struct LatestEnds {
    private var first: (instance: UInt32, end: UInt64)?
    private var second: (instance: UInt32, end: UInt64)?

    mutating func add(_ fetch: HistoryEvent) {
        let new = (instance: fetch.instance, end: fetch.end)
        guard let greatest = first else {
            first = new
            return
        }
        if new.instance == greatest.instance {
            first = (new.instance, max(greatest.end, new.end))
        } else if new.end > greatest.end {
            second = greatest
            first = new
        } else if new.end > second?.end ?? 0 {
            second = new
        }
    }

    /// Whether a fetch of another instance ends after a time.
    func outlasts(_ time: UInt64, otherThan instance: UInt32) -> Bool {
        guard let other = first?.instance == instance ? second : first else { return false }
        return other.end > time
    }
}
