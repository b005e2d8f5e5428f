/// The verdict on a history.
///
/// Print it, or write ``json()`` as a line for machines.
public struct StalenessReport: Sendable {
    /// The run that was judged.
    public let run: VersionedRun
    /// What the history contains.
    public let totals: HistoryTotals
    /// How many violations of each kind were found; kinds without any are missing.
    public let violationCounts: [ViolationKind: Int]
    /// The first violations of each kind, in time.
    public let examples: [Violation]
    /// How old values were, by class of reads; classes without any are missing.
    public let staleness: [ReadClass: StalenessDistribution]
    /// How often the source was asked.
    public let fetches: FetchCounts
    /// What failovers have lost.
    public let failovers: FailoverCounts
    /// Failed changes of keys that had to be repeated; one of a tag counts for each of its keys.
    public let repeated: Int

    init(_ totals: HistoryTotals, _ findings: Findings, run: VersionedRun) {
        self.run = run
        self.totals = totals
        self.violationCounts = findings.counts
        self.examples = findings.violations()
        self.staleness = findings.distributions()
        self.fetches = findings.fetches
        self.failovers = findings.failovers
        self.repeated = findings.repeated
    }

    /// How many violations were found in all.
    public var violations: Int { violationCounts.values.reduce(0, +) }

    /// How many violations of one kind were found.
    ///
    /// - Parameter kind: The kind.
    /// - Returns: The count, examples or not.
    public func violations(_ kind: ViolationKind) -> Int { violationCounts[kind] ?? 0 }

    /// The greatest age of a value that was not marked stale or suspect, faults included.
    public var worstStaleness: Duration {
        max(staleness[.normal]?.worst ?? .zero, staleness[.fault]?.worst ?? .zero)
    }

    /// Whether the history is whole enough to be believed: every event found room, is still there and could be read.
    ///
    /// Records torn by a killed process are no defect, the check allows for them. A dropped write, on the other hand,
    /// makes its version look invented, and a dropped invalidation hides what it would have shown.
    public var isComplete: Bool {
        totals.dropped == 0 && totals.lost == 0 && totals.unreadable == 0 && totals.unmappedInvalidations == 0
    }

    /// Whether no violation was found in a complete history that contains reads.
    public var isClean: Bool { violations == 0 && isComplete && totals.gets > 0 }
}
