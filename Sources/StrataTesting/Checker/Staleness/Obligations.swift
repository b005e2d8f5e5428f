/// From when on which version of one key must be seen, because an invalidation had returned.
struct Obligations {
    private var fleet = Staircase()
    private var own: [UInt32: Staircase] = [:]

    /// Takes all invalidations that touch the key.
    ///
    /// One that failed, or that never returned, obliges nobody.
    ///
    /// An invalidation speaks for the version that its caller knew, and for all that any instance had finished writing
    /// when it began; a set for its own version alone.
    init(_ invalidations: [HistoryEvent], _ written: WrittenVersions, initialVersion: UInt64) {
        var steps: [Staircase.Step] = []
        for invalidation in invalidations where invalidation.hasEnded && invalidation.outcome == .done {
            var version = invalidation.version
            if invalidation.kind != .set { version = max(version, written.newest(by: invalidation.start)) }
            guard version > initialVersion else { continue }
            steps.append(.init(time: invalidation.end, version: version, instance: invalidation.instance))
        }
        steps.sort { $0.time < $1.time }
        for step in steps {
            fleet.add(step)
            own[step.instance, default: Staircase()].add(step)
        }
    }

    /// How old a version was at a time, and who had made it so; nil if it was not.
    struct Age {
        var nanoseconds: UInt64
        var cause: Staircase.Step
    }

    /// How old a version was at a time, by all invalidations or by those of one instance.
    func age(of version: UInt64, at time: UInt64, by instance: UInt32? = nil) -> Age? {
        let steps = if let instance { own[instance] } else { Optional(fleet) }
        guard let cause = steps?.first(above: version), cause.time < time else { return nil }
        return Age(nanoseconds: time - cause.time, cause: cause)
    }
}
