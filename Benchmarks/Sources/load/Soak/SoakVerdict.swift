import Foundation
import Strata
import StrataTesting

/// What is promised of a soak's history, and the judgement.
struct SoakVerdict {
    private let settings: SoakSettings
    private let bounds: StalenessBounds

    /// - Parameters:
    ///   - settings: The run's.
    ///   - calmBound: How old a value may be when nothing has been wrong for a while.
    ///   - setsBack: Whether the server was started with old data.
    init(_ settings: SoakSettings, calmBound: Duration, setsBack: Bool) {
        self.settings = settings
        // Hits are compared with a clock that ticks every 4 ms.
        var faulty = settings.trustBound + .milliseconds(5)
        var bounds = StalenessBounds(normal: StalenessBound(fleet: min(calmBound, faulty)))
        bounds.recovery = Self.recovery(settings)
        if setsBack {
            // What comes back with old data is a value like any other, and goes with its lifetime.
            faulty += .seconds(settings.freshSeconds)
            bounds.recovery = faulty
        }
        bounds.duringFaults = StalenessBound(fleet: faulty, own: setsBack ? faulty : .zero)
        self.bounds = bounds
    }

    /// How long the effects of a fault may last: until the link stands again, and what was read meanwhile is gone.
    static func recovery(_ settings: SoakSettings) -> Duration {
        settings.trustBound + SoakSettings.longestReconnectDelay + .seconds(1)
    }

    func print(_ trouble: SoakTrouble, _ tally: SoakTally) throws -> StalenessReport {
        let files = try FileManager.default.contentsOfDirectory(atPath: settings.folder)
            .filter { $0.hasSuffix(".history") }
            .map { settings.folder + "/" + $0 }
        var checker = StalenessChecker(bounds: bounds)
        checker.oneFetch = OneFetchRule()
        checker.tags = SoakTags.keys(settings.keys)
        let report = try checker.check(History(files: files.sorted()))
        let totals = report.totals
        measure("violations", Double(report.violations), "1")
        measure("worst_staleness_ms", report.worstStaleness / .milliseconds(1), "ms")
        measure("worst_calm_staleness_ms", (report.staleness[.normal]?.worst ?? .zero) / .milliseconds(1), "ms")
        measure("operations", Double(totals.gets + totals.writes + totals.invalidations), "1")
        measure("gets", Double(totals.gets), "1")
        measure("failed_gets", Double(totals.failedGets), "1")
        measure("writes", Double(totals.writes), "1")
        measure("invalidations", Double(totals.invalidations), "1")
        measure("failed_invalidations", Double(totals.unknownInvalidations), "1")
        measure("fetches", Double(report.fetches.fetches), "1")
        measure("fetches_excused_overlaps", Double(report.fetches.excusedOverlaps), "1")
        measure("instances", Double(totals.instances), "1")
        for (fault, count) in trouble.faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            measure("faults.\(fault.rawValue)", Double(count), "1")
        }
        measure("cancelled_calls", Double(tally.cancelled), "1")
        measure("caller_errors", Double(tally.errors.values.reduce(0, +)), "1")
        var words = report.isClean ? [] : ["\(report)"]
        words += tally.errors.sorted { $0.value > $1.value }.prefix(20).map { "\($0.value) × \($0.key)" }
        words += trouble.ownFailures.map { "the driver: \($0)" }
        FileHandle.standardError.write(Data(words.map { $0 + "\n" }.joined().utf8))
        return report
    }

    private func measure(_ name: String, _ value: Double, _ unit: String) {
        Measurement(name: "soak." + name, value: value, unit: unit).print()
    }
}
