import FleetChecker
import Foundation
import Strata

/// What is promised of a soak's history, and the judgement.
///
/// What counts as a violation, by what is in the work or goes wrong:
///
/// | what | staleness | waits and fetches |
/// |---|---|---|
/// | faults at the server, in instances, on the way | the trust bound while one lasts and in the recovery; none of this instance's own changes | not asked in that time |
/// | `srv-old` | the trust bound and the lifetime of values, also for own changes: what was confirmed is lost | not asked in that time |
/// | `failover`, `pri-kill`, `pri-stop`, and what else ends in a failover | as other faults, but for the changes that the old primary confirmed and its successor may lack (see ``SoakBeats``): these oblige after the lifetime of values. A `failover` in a cluster loses nothing | not asked in that time |
/// | `migrate` | as other faults: nothing is lost | not asked in that time |
/// | `late-set` | as other faults. What comes late of a set that failed must undo nothing that was acknowledged after it | not asked in that time |
/// | `mk-del`, `mk-type` | as other faults: who finds the numbers gone takes everything for void, so nothing acknowledged is lost | healed by the invalidations of five seconds, or `soak.unhealed_marks` |
/// | `mk-num` | as other faults; of tags and clears, what was acknowledged before the end of the fault obliges nobody after it, for the fault itself has lost it. Changes of keys go on to oblige | the same |
/// | `fgn-lock`, `fgn-val` | as other faults | as always once it is over: what lies there is believed for no longer than the recovery lasts |
/// | `options` | the calm bound; none of own changes. What options forbid is `soak.option_breaches` | one fetch at a time, but in the room that reads past Redis |
/// | `refused`, `cancels`, `large`, `tenants` | the calm bound; none of own changes | one fetch at a time (of values that are too large by up to six instances); nobody waits while nobody fetches |
/// | `slow` | the calm bound; none of own changes | the same, although fetches outlast the wait limit |
/// | `schema` | the calm bound; none of own changes | nobody waits while nobody fetches |
/// | a machine too busy for an instance (``SoakPulse``) | as if nothing were wrong | of fetches not asked in that time and for 2.5 s after; of a wait that time does not count |
/// | a failover that no fault has caused | the same, and as other failovers |
///
/// A change that failed in a fault is repeated by its instance, if that lives on: from the end of the recovery it
/// obliges as any other.
///
/// An old primary is written to for no longer than a second after all who tell clients of primaries name the new one;
/// what is written there later is one of `soak.late_writes_at_old_primaries`.
///
/// Marked reads (stale, suspect) may be as old as a value lives, and never older than a change of the same instance. An
/// instance that ends by itself is one of `soak.crashes`. What a server refuses to the instances' user is one of
/// `soak.refused_commands`. All of these counts must be 0.
struct SoakVerdict {
    private let settings: SoakSettings
    private let bounds: StalenessBounds
    private let orphanWait: Duration

    /// - Parameters:
    ///   - settings: The run's.
    ///   - calmBound: How old a value may be when nothing has been wrong for a while.
    ///   - orphanWait: How long a read may wait while no instance fetches its key and nothing has been wrong.
    init(_ settings: SoakSettings, calmBound: Duration, orphanWait: Duration) {
        self.settings = settings
        self.orphanWait = orphanWait
        let setsBack = Self.setsBack(settings)
        // Hits are compared with a clock that ticks every 4 ms.
        var faulty = settings.trustBound + .milliseconds(5)
        var bounds = StalenessBounds(normal: StalenessBound(fleet: min(calmBound, faulty)))
        bounds.recovery = Self.recovery(settings)
        if setsBack {
            // What comes back with old data is a value like any other, and goes with its lifetime.
            faulty += .seconds(settings.freshSeconds)
        }
        bounds.duringFaults = StalenessBound(fleet: faulty, own: setsBack ? faulty : .zero)
        // What is stale has had its time, and what is suspect was not told of changes; neither is what this instance
        // has removed.
        let longest = .seconds(2 * settings.freshSeconds) + SoakSource.longestFetch + faulty
        let marked = StalenessBound(fleet: longest, own: setsBack ? longest : .zero)
        (bounds.stale, bounds.suspect) = (marked, marked)
        self.bounds = bounds
    }

    /// How long the effects of a fault may last: until the link stands again, and what was read meanwhile is gone; and
    /// until a fetch has ended that began without a lease.
    static func recovery(_ settings: SoakSettings) -> Duration {
        let link = settings.trustBound + SoakSettings.longestReconnectDelay + .seconds(1)
        return max(link, SoakSource.longestFetch) + .seconds(setsBack(settings) ? settings.freshSeconds : 0)
    }

    /// Whether a server may come to hold what it held before.
    private static func setsBack(_ settings: SoakSettings) -> Bool { settings.has(.serverSetBack) }

    /// How old a value may be that a failover has brought back: what was fetched when the change was lost may be stored
    /// after it, and lives from then on.
    private static func failoverBound(_ settings: SoakSettings) -> Duration {
        .seconds(settings.freshSeconds) + SoakSource.longestFetch
    }

    /// Judges and prints.
    ///
    /// - Returns: Whether all is as promised.
    func print(_ trouble: SoakTrouble, _ beats: SoakBeats, _ tally: SoakTally, crashes: [String]) throws -> Bool {
        let files = try FileManager.default.contentsOfDirectory(atPath: settings.folder)
            .filter { $0.hasSuffix(".history") }
            .map { settings.folder + "/" + $0 }
        var checker = StalenessChecker(bounds: bounds)
        // A thread that is kept from its work for less than what is marked as that may begin its fetch so late.
        checker.oneFetch = OneFetchRule(leaseLead: .milliseconds(100))
        checker.hardships = [SoakPulse.label, SoakBeats.label]
        // The longest pause of a breaker, and what a call may spend on Redis.
        checker.hardshipRecovery = .milliseconds(2_500)
        // There several may fetch: past Redis on purpose, or because one cannot read what the other has written.
        checker.oneFetch?.exceptKeys = Set(SoakRoom.beside.keys(settings)).union(SoakRoom.schema.keys(settings))
        // Who has seen five leases end without a value fetches beside the next.
        if settings.instances > 6 { checker.oneFetch?.exceptKeys.formUnion(SoakRoom.large.keys(settings)) }
        checker.orphanWaits = OrphanWaitRule(limit: orphanWait)
        // What was invalidated by tag or clear before the numbers were damaged may be back: the fault itself has lost
        // it.
        checker.losses = [SoakFault.marksAbsurd.rawValue]
        checker.tags = SoakTags.keys(settings.keys)
        checker.repeatsFailed = true
        // A value that is too large fails without a fault.
        checker.neverRepeatedKeys = Set(SoakRoom.large.keys(settings))
        checker.failovers = beats.losses
        checker.failoverBound = Self.failoverBound(settings)
        let report = try checker.check(History(files: files.sorted()))
        let totals = report.totals
        measure("violations", Double(report.violations), "1")
        for kind in ViolationKind.allCases where report.violations(kind) > 0 {
            measure("violations.\(kind.rawValue)", Double(report.violations(kind)), "1")
        }
        let breaches = tally.breaches.values.reduce(0, +)
        measure("orphan_waits", Double(report.violations(.orphanWait)), "1")
        measure("option_breaches", Double(breaches), "1")
        measure("unhealed_marks", Double(trouble.counted["unhealed_marks"] ?? 0), "1")
        measure("crashes", Double(crashes.count), "1")
        if settings.topology != .single {
            measure("failovers", Double(beats.switches), "1")
            measure("unasked_failovers", Double(beats.unasked), "1")
            measure("late_writes_at_old_primaries", Double(beats.lateWrites), "1")
            measure("at_risk_in_failovers", Double(report.failovers.atRisk), "1")
            measure("lost_to_failover", Double(report.failovers.lost), "1")
            measure("reads_of_lost_changes", Double(report.failovers.reads), "1")
            measure("worst_lost_ms", report.failovers.worst / .milliseconds(1), "ms")
            let spans = beats.losses.map { Double(min($0.until, HistoryClock.now()) - min($0.from, $0.until)) / 1e6 }
            measure("risk_ms", spans.reduce(0, +), "ms")
        }
        if trouble.servers.hasUser {
            measure("refused_commands", Double(trouble.refusals.values.reduce(0, +)), "1")
        }
        measure("worst_staleness_ms", report.worstStaleness / .milliseconds(1), "ms")
        measure("worst_calm_staleness_ms", (report.staleness[.normal]?.worst ?? .zero) / .milliseconds(1), "ms")
        measure("operations", Double(totals.gets + totals.writes + totals.invalidations), "1")
        measure("gets", Double(totals.gets), "1")
        measure("failed_gets", Double(totals.failedGets), "1")
        measure("writes", Double(totals.writes), "1")
        measure("invalidations", Double(totals.invalidations), "1")
        measure("failed_invalidations", Double(totals.unknownInvalidations), "1")
        measure("repeated_changes_of_keys", Double(report.repeated), "1")
        measure("fetches", Double(report.fetches.fetches), "1")
        measure("fetches_excused_overlaps", Double(report.fetches.excusedOverlaps), "1")
        measure("instances", Double(totals.instances), "1")
        measure("tracking_changes", Double(try SoakModeChanges.count(in: settings.folder)), "1")
        for (fault, count) in trouble.faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            measure("faults.\(fault.rawValue)", Double(count), "1")
        }
        for (name, count) in trouble.counted.filter({ $0.key != "unhealed_marks" })
            .merging(tally.counts, uniquingKeysWith: +).sorted(by: { $0.key < $1.key })
        {
            measure(name, Double(count), "1")
        }
        measure("driver_failures", Double(trouble.ownFailures.count), "1")
        measure("cancelled_calls", Double(tally.cancelled), "1")
        measure("caller_errors", Double(tally.errors.values.reduce(0, +)), "1")
        // What makes the run fail comes last: of a report that is cut the end is kept.
        var words = tally.errors.sorted { $0.value > $1.value }.prefix(20).map { "\($0.value) × \($0.key)" }
        words += beats.lateNotes
        words += trouble.ownFailures.map { "the driver: \($0)" }
        words += trouble.refusals.map { "\($0.value) × refused to the user: \($0.key)" }
        words += tally.breaches.map { "\($0.value) × \($0.key)" }
        words += crashes.map { "crashed: \($0)" }
        words += report.isClean ? [] : ["\(report)"]
        FileHandle.standardError.write(Data(words.map { $0 + "\n" }.joined().utf8))
        let isHealed = trouble.counted["unhealed_marks"] == nil
        let isTried = totals.gets > 0 && (!trouble.faults.isEmpty || settings.faults.allSatisfy { $0.place == .work })
        if !isTried { FileHandle.standardError.write(Data("nothing has gone wrong, so nothing is shown\n".utf8)) }
        return isTried && report.isClean && breaches == 0 && isHealed && crashes.isEmpty && trouble.refusals.isEmpty
            && beats.lateWrites == 0
    }

    private func measure(_ name: String, _ value: Double, _ unit: String) {
        Measurement(name: "soak." + name, value: value, unit: unit).print()
    }
}
