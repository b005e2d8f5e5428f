/// The checker's settings in nanoseconds, ready for millions of look-ups.
struct StalenessRules {
    /// A bound in nanoseconds.
    struct Limit {
        var fleet: UInt64
        var own: UInt64

        init(_ bound: StalenessBound) {
            fleet = bound.fleet.clampedNanoseconds
            own = bound.own.clampedNanoseconds
        }

        func widened(to other: Limit) -> Limit {
            var wider = self
            wider.fleet = max(fleet, other.fleet)
            wider.own = max(own, other.own)
            return wider
        }
    }

    let initialVersion: UInt64
    let monotoneReads: Bool
    private(set) var oneFetch: (leaseLead: UInt64, ambiguity: UInt64)?
    let orphanWaits: (limit: UInt64, unfinished: UInt64)?
    let losses: Losses
    private(set) var failovers: [FailoverLoss]
    /// How old a value may be that a failover has brought back.
    let failoverBound: UInt64
    let faults: FaultWindows
    /// When all were too slow for one fetch a key, each time with its recovery.
    let hardships: FaultWindows
    /// When one instance was, by its number.
    let ownHardships: [UInt32: FaultWindows]
    /// All of these without recovery.
    let hardTimes: FaultWindows
    /// Until when each instance has lived; nil if failed changes require nothing.
    private var lives: [UInt32: UInt64]?
    private let neverRepeated: Set<Int>
    private let normal: [Limit]
    private let faulty: [Limit]
    private let stale: Limit?
    private let suspect: Limit?
    private let exceptKeys: Set<Int>

    init(_ checker: StalenessChecker, run: VersionedRun, faults: [HistoryEvent], lives: [UInt32: UInt64] = [:]) {
        let bounds = checker.bounds
        self.initialVersion = run.initialVersion
        self.monotoneReads = checker.monotoneReads
        self.oneFetch = checker.oneFetch.map { ($0.leaseLead.clampedNanoseconds, $0.ambiguity.clampedNanoseconds) }
        self.exceptKeys = checker.oneFetch?.exceptKeys ?? []
        self.orphanWaits = checker.orphanWaits.map {
            ($0.limit.clampedNanoseconds, $0.unfinished.clampedNanoseconds)
        }
        self.losses = Losses(faults, labels: checker.losses)
        self.lives = checker.repeatsFailed ? lives : nil
        self.neverRepeated = checker.neverRepeatedKeys
        self.failovers = checker.failovers
        self.failoverBound = checker.failoverBound.clampedNanoseconds
        let hard = Set(checker.hardships.map { FaultLabel.pack($0) })
        self.faults = FaultWindows(
            faults.filter { !hard.contains($0.version) },
            recovery: bounds.recovery.clampedNanoseconds
        )
        let hardTimes = faults.filter { hard.contains($0.version) }
        let recovery = checker.hardshipRecovery.clampedNanoseconds
        self.hardships = FaultWindows(hardTimes.filter { !$0.isOfInstance }, recovery: recovery)
        self.ownHardships = Dictionary(grouping: hardTimes.filter(\.isOfInstance), by: \.instance)
            .mapValues { FaultWindows($0, recovery: recovery) }
        self.hardTimes = FaultWindows(hardTimes, recovery: 0)
        let normal = ReadLevel.allCases.map { Limit(bounds.levels[$0] ?? bounds.normal) }
        self.normal = normal
        self.faulty = bounds.duringFaults.map { bound in normal.map { $0.widened(to: Limit(bound)) } } ?? normal
        self.stale = bounds.stale.map { Limit($0) }
        self.suspect = bounds.suspect.map { Limit($0) }
    }

    /// What holds for a key.
    func rules(for key: Int) -> StalenessRules {
        guard exceptKeys.contains(key) || neverRepeated.contains(key) || !failovers.isEmpty else { return self }
        var rules = self
        if neverRepeated.contains(key) { rules.lives = nil }
        if exceptKeys.contains(key) { rules.oneFetch = nil }
        rules.failovers.removeAll { $0.keys.map { !$0.contains(key) } ?? false }
        return rules
    }

    /// A change that failed, as one that is done when it must have been repeated; nil if nothing is asked of it.
    func repeated(_ change: HistoryEvent) -> HistoryEvent? {
        guard let life = lives?[change.instance], change.outcome == .failed, let end = faults.end(at: change.end),
            end <= life
        else { return nil }
        var change = change
        change.end = end
        change.outcome = .done
        return change
    }

    /// Which kind of read it was, and what bounds it; nil if nothing does.
    func judgement(of get: HistoryEvent) -> (class: ReadClass, limit: Limit?) {
        if get.marks.contains(.stale) { return (.stale, stale) }
        if get.marks.contains(.suspect) { return (.suspect, suspect) }
        let level = Int(get.level.rawValue)
        return faults.contains(get.start) ? (.fault, faulty[level]) : (.normal, normal[level])
    }
}
