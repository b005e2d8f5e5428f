extension StalenessReport: CustomStringConvertible {
    /// The report for a person, some twenty lines.
    public var description: String {
        var lines = [verdict]
        for kind in ViolationKind.allCases where violations(kind) > 0 {
            lines.append("  \(kind.rawValue): \(violations(kind))")
            for example in examples where example.kind == kind {
                lines.append("    \(example)")
            }
        }
        for readClass in ReadClass.allCases {
            guard let distribution = staleness[readClass] else { continue }
            let points = distribution.points.map { "\($0.nines) nines within \($0.within.inMilliseconds)" }
            lines.append(
                "  \(readClass.rawValue) reads: \(distribution.reads), \(distribution.staleReads) of them old, "
                    + "worst \(distribution.worst.inMilliseconds)"
                    + (points.isEmpty ? "" : " (" + points.joined(separator: ", ") + ")")
            )
        }
        lines.append(
            "  fetches: \(fetches.fetches) (\(fetches.failed) failed, \(fetches.unfinished) unfinished) "
                + "of \(fetches.versions) versions, \(fetches.repeatedVersions) of them repeatedly, "
                + "\(fetches.mostPerVersion) times at most; overlaps: \(fetches.overlaps), "
                + "excused: \(fetches.excusedOverlaps)"
        )
        if repeated > 0 { lines.append("  failed changes of keys that had to be repeated: \(repeated)") }
        if failovers != FailoverCounts() {
            lines.append(
                "  failovers: \(failovers.atRisk) changes of keys at risk, \(failovers.lost) lost, seen by "
                    + "\(failovers.reads) reads, \(failovers.worst.inMilliseconds) after the change at most"
            )
        }
        lines.append(
            "  history: \(totals.events) events in \(totals.span.inMilliseconds) by \(totals.instances) instances on "
                + "\(totals.keys) of \(run.keyCount) keys, seed \(run.seed)"
        )
        lines.append(
            "  gets: \(totals.gets) (\(totals.absences) absent, \(totals.misses) missed, \(totals.failedGets) failed), "
                + "writes: \(totals.writes) (\(totals.unknownWrites) unknown), "
                + "invalidations: \(totals.invalidations) (\(totals.unknownInvalidations) unknown, "
                + "\(totals.unmappedInvalidations) of tags without keys), faults: \(totals.faults)"
        )
        lines.append(
            "  records dropped: \(totals.dropped), lost: \(totals.lost), torn: \(totals.torn), unreadable: \(totals.unreadable)"
        )
        return lines.joined(separator: "\n")
    }

    private var verdict: String {
        let incomplete = isComplete ? "" : "; the history is incomplete, so this is not the last word"
        if violations > 0 { return "VIOLATIONS: \(violations)\(incomplete)" }
        if totals.gets == 0 { return "no violation, but nothing was read\(incomplete)" }
        return "no violation, worst staleness \(worstStaleness.inMilliseconds)\(incomplete)"
    }
}
