#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StalenessReport {
    /// The report as one line of JSON with sorted names; durations are numbers of milliseconds.
    ///
    /// - Throws: What the encoder throws; it has no reason to.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(Form(self)), as: UTF8.self)
    }

    /// The form of the JSON, apart from the report's own so that renaming a property does not change what machines
    /// read.
    private struct Form: Encodable {
        var clean: Bool
        var complete: Bool
        var seed: UInt64
        var keys: Int
        var violations: Int
        var violations_by_kind: [String: Int]
        var examples: [Example]
        var worst_staleness_ms: Double
        var staleness: [String: Ages]
        var fetches: [String: Int]
        var failovers: [String: Double]
        var totals: [String: UInt64]
        var span_ms: Double

        struct Example: Encodable {
            var kind: String
            var key: Int
            var instance: String
            var start_ms: Double
            var version: UInt64
            var staleness_ms: Double?
            var text: String
        }

        struct Ages: Encodable {
            var reads: Int
            var stale_reads: Int
            var worst_ms: Double
            /// One nine first.
            var nines_within_ms: [Double]
        }

        init(_ report: StalenessReport) {
            clean = report.isClean
            complete = report.isComplete
            seed = report.run.seed
            keys = report.run.keyCount
            violations = report.violations
            violations_by_kind = [:]
            for kind in ViolationKind.allCases { violations_by_kind[kind.rawValue] = report.violations(kind) }
            examples = report.examples.map {
                Example(
                    kind: $0.kind.rawValue,
                    key: $0.key,
                    instance: $0.instance,
                    start_ms: $0.start.milliseconds,
                    version: $0.version,
                    staleness_ms: $0.staleness?.milliseconds,
                    text: $0.description
                )
            }
            worst_staleness_ms = report.worstStaleness.milliseconds
            staleness = [:]
            for (readClass, ages) in report.staleness {
                staleness[readClass.rawValue] = Ages(
                    reads: ages.reads,
                    stale_reads: ages.staleReads,
                    worst_ms: ages.worst.milliseconds,
                    nines_within_ms: ages.points.map(\.within.milliseconds)
                )
            }
            fetches = Self.fetches(report.fetches)
            failovers = Self.failovers(report.failovers)
            totals = Self.totals(report.totals)
            span_ms = report.totals.span.milliseconds
        }

        private static func fetches(_ counts: FetchCounts) -> [String: Int] {
            [
                "fetches": counts.fetches, "failed": counts.failed, "unfinished": counts.unfinished,
                "versions": counts.versions, "repeated_versions": counts.repeatedVersions,
                "most_per_version": counts.mostPerVersion, "overlaps": counts.overlaps,
                "excused_overlaps": counts.excusedOverlaps,
            ]
        }

        private static func failovers(_ counts: FailoverCounts) -> [String: Double] {
            [
                "at_risk": Double(counts.atRisk), "lost": Double(counts.lost), "reads": Double(counts.reads),
                "worst_ms": counts.worst.milliseconds,
            ]
        }

        private static func totals(_ totals: HistoryTotals) -> [String: UInt64] {
            let counts = [
                "events": totals.events, "instances": totals.instances, "keys": totals.keys, "gets": totals.gets,
                "absences": totals.absences, "misses": totals.misses, "failed_gets": totals.failedGets,
                "writes": totals.writes, "unknown_writes": totals.unknownWrites,
                "invalidations": totals.invalidations, "unknown_invalidations": totals.unknownInvalidations,
                "unmapped_invalidations": totals.unmappedInvalidations, "faults": totals.faults,
            ]
            var all = counts.mapValues { UInt64($0) }
            all["dropped"] = totals.dropped
            all["lost"] = totals.lost
            all["torn"] = totals.torn
            all["unreadable"] = totals.unreadable
            return all
        }
    }
}
