/// The versions of one key that reads must see because an invalidation had returned, and from when on.
struct RequiredVersions {
    /// What is required of all instances, or of one.
    private struct Timelines {
        var lasting = VersionTimeline()
        /// What tags' and whole invalidations have left, by how many losses had ended before they began.
        var perishable: [Int: VersionTimeline] = [:]
    }

    private var fleet = Timelines()
    private var own: [UInt32: Timelines] = [:]
    private let losses: Losses

    /// Takes all invalidations that touch the key.
    ///
    /// One that failed, or that never returned, requires nothing.
    ///
    /// An invalidation speaks for the version that its caller knew, and for all that any instance had finished writing
    /// when it began; a set for its own version alone.
    init(_ invalidations: [HistoryEvent], _ written: WrittenVersions, initialVersion: UInt64, losses: Losses = Losses())
    {
        self.losses = losses
        var steps: [(step: VersionTimeline.Step, epoch: Int?)] = []
        for invalidation in invalidations where invalidation.hasEnded && invalidation.outcome == .done {
            var version = invalidation.version
            if invalidation.kind != .set { version = max(version, written.newest(by: invalidation.start)) }
            guard version > initialVersion else { continue }
            let step = VersionTimeline.Step(time: invalidation.end, version: version, instance: invalidation.instance)
            let isPerishable = invalidation.kind == .invalidateTag || invalidation.kind == .invalidateAll
            steps.append((step, isPerishable && !losses.isEmpty ? losses.over(by: invalidation.start) : nil))
        }
        steps.sort { $0.step.time < $1.step.time }
        for (step, epoch) in steps {
            if let epoch {
                fleet.perishable[epoch, default: VersionTimeline()].add(step)
                own[step.instance, default: Timelines()].perishable[epoch, default: VersionTimeline()].add(step)
            } else {
                fleet.lasting.add(step)
                own[step.instance, default: Timelines()].lasting.add(step)
            }
        }
    }

    /// How old a version was at a time, and who had made it so; nil if it was not.
    struct Age {
        var nanoseconds: UInt64
        var cause: VersionTimeline.Step
    }

    /// How old a version was at a time, by all invalidations or by those of one instance.
    func age(of version: UInt64, at time: UInt64, by instance: UInt32? = nil) -> Age? {
        guard let timelines = if let instance { own[instance] } else { Optional(fleet) } else { return nil }
        let lasting = timelines.lasting.first(above: version)
        let perishable =
            timelines.perishable.isEmpty ? nil : timelines.perishable[losses.begun(by: time)]?.first(above: version)
        let causes = [lasting, perishable].compactMap(\.self).filter { $0.time < time }
        guard let cause = causes.min(by: { $0.time < $1.time }) else { return nil }
        return Age(nanoseconds: time - cause.time, cause: cause)
    }
}
