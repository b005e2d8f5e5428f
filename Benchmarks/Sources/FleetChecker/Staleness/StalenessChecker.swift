/// Judges a fleet's history: no value may have been older than promised, invented, or another key's.
///
/// The check stands outside the cache and knows nothing of how it works: it has the times at which versions were
/// written, invalidated and read, on one clock, and looks at each read by itself. The method is that of the observers
/// which Meta ("Cache made consistent", 2022) runs beside its caches.
///
/// ```swift
/// var bounds = StalenessBounds(normal: StalenessBound(fleet: .milliseconds(5)))
/// bounds.duringFaults = StalenessBound(fleet: .seconds(3))
/// let report = try StalenessChecker(bounds: bounds).check(History(files: paths))
/// print(report)
/// ```
///
/// What it finds, each read counted once:
/// - a read that began later than the bound after an invalidation had returned, and gave an older version than that one
///   spoke for;
/// - a version that no write had begun to make when the read ended, a value that does not fit the run, another key's
///   value;
/// - if asked, an instance's older read after a newer one (``monotoneReads``), two instances that fetch one key at
///   the same time (``oneFetch``), and a read that waits while no instance fetches its key (``orphanWaits``).
///
/// What ended in an unknown way is taken in favour of the cache: an invalidation that failed or never returned requires
/// nothing; a write whose process was killed may be seen or not.
public struct StalenessChecker: Sendable {
    /// How old values may be.
    public var bounds: StalenessBounds
    /// Which keys carry a tag: those that an invalidation of the tag speaks for.
    ///
    /// Of a tag that is missing here nothing is asked.
    public var tags: [Int: [Int]] = [:]
    /// Whether an instance may not read an older version after a newer one; marked reads may.
    ///
    /// Not asked by default.
    public var monotoneReads = false
    /// Whether two instances may not fetch a key at the same time; nil, the default, to count fetches and report
    /// nothing.
    public var oneFetch: OneFetchRule?
    /// The rule that a read does not wait while no instance fetches its key; nil, the default, if it may.
    public var orphanWaits: OrphanWaitRule?
    /// The labels of faults that damage what invalidations of tags and of everything have left behind, and nothing
    /// else.
    ///
    /// Such an invalidation requires nothing from the beginning of the next of these faults, nor if it began before the
    /// end of one. That of a key goes on to oblige.
    public var losses: Set<String> = []
    /// The labels of faults by which an instance or the way to its servers is too slow to do what it does in time.
    ///
    /// They excuse what ``oneFetch`` asks for, while they last and within ``hardshipRecovery`` after; one that an
    /// instance has recorded as its own excuses pairs with this instance only. While they last, no wait counts for
    /// ``orphanWaits``. Nothing else is excused.
    ///
    /// None by default.
    public var hardships: Set<String> = []
    /// How long after its end one of ``hardships`` still counts; 2 s by default.
    public var hardshipRecovery: Duration = .seconds(2)
    /// Whether an invalidation that failed while a fault lasted, or within ``StalenessBounds/recovery`` after it,
    /// obliges from the end of that time on: a cache repeats it.
    ///
    /// Asked only of instances whose life is recorded (``InstanceLog/begin()``) and lasted until then. Not asked by
    /// default.
    public var repeatsFailed = false
    /// Keys whose changes may fail for other reasons than a fault, so that nothing repeats them.
    public var neverRepeatedKeys: Set<Int> = []
    /// The failovers that may have lost changes; none by default.
    ///
    /// A change that one of them may have lost obliges within ``failoverBound`` instead of ``bounds``.
    public var failovers: [FailoverLoss] = []
    /// How old a value may be that a failover has brought back, counted from the change that was lost.
    ///
    /// Zero by default: add the lifetime of values where you know it.
    public var failoverBound: Duration = .zero
    /// How many violations of each kind are told in full: the first in time.
    ///
    /// All are counted. 5 by default.
    public var examplesPerKind = 5

    /// How many events are held in memory at once, 40 bytes each; the keys are checked in as many rounds as that takes.
    package var eventsPerRound = 1 << 23

    /// Makes a checker.
    ///
    /// - Parameter bounds: How old values may be.
    public init(bounds: StalenessBounds) {
        self.bounds = bounds
    }

    /// Checks a history.
    ///
    /// O(n log n) in the events of each key, and one pass over all for every eight million of them.
    ///
    /// Blocks the calling thread while it reads and computes, about a second for a few million events.
    ///
    /// - Parameter history: The history; files may still be growing, what comes later is left out.
    /// - Throws: ``CheckerError`` if a file cannot be read any more.
    /// - Returns: The verdict.
    public func check(_ history: History) throws(CheckerError) -> StalenessReport {
        let survey = try HistorySurvey(history, tags: tags)
        let rules = StalenessRules(self, run: history.run, faults: survey.faults, lives: survey.lives)
        let formatter = ViolationFormatter(instances: survey.instances, origin: survey.origin)
        var findings = Findings(examplesPerKind: examplesPerKind)
        var first = 0
        while first < survey.eventsPerKey.count {
            let round = KeyRound(from: first, survey.eventsPerKey, limit: eventsPerRound)
            try round.visitKeys(of: history) { key, events in
                let widespread = survey.widespread(for: key)
                let rules = rules.rules(for: key)
                KeyCheck(events, widespread: widespread, rules: rules, formatter: formatter).judge(into: &findings)
            }
            first = round.keys.upperBound
        }
        return StalenessReport(survey.totals, findings, run: history.run)
    }
}
