/// Versions that grow with time: step by step, each newer than all before it.
struct VersionTimeline {
    struct Step: Hashable {
        /// When the version began to count.
        var time: UInt64
        var version: UInt64
        /// Whose doing it was.
        var instance: UInt32
    }

    private var steps: [Step] = []

    /// Adds what came later than all before; nothing changes if it is no newer.
    mutating func add(_ step: Step) {
        if let last = steps.last, step.version <= last.version { return }
        steps.append(step)
    }

    /// The first step above a version: from then on it was old.
    ///
    /// O(log n).
    func first(above version: UInt64) -> Step? {
        let index = steps.firstIndexOfSorted { $0.version > version }
        return index < steps.count ? steps[index] : nil
    }

    /// The last step that was there at a time.
    ///
    /// O(log n).
    func last(by time: UInt64) -> Step? {
        let index = steps.firstIndexOfSorted { $0.time > time }
        return index > 0 ? steps[index - 1] : nil
    }
}
