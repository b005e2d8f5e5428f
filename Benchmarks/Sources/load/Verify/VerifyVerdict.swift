import FleetChecker
import Foundation

/// An instance that serves a key from its memory although it is older than it may be.
struct VerifyCase: Hashable, Comparable, CustomStringConvertible {
    let instance: Int
    let key: Int

    var description: String { "instance \(instance), key \(key)" }

    static func < (left: VerifyCase, right: VerifyCase) -> Bool {
        (left.instance, left.key) < (right.instance, right.key)
    }
}

/// What the checker has found in a history, beside what the monitor has found.
struct VerifyVerdict {
    /// What the monitor has found, with the causes.
    let found: [VerifyCase: Set<String>]
    /// What was planted, and seen to be served afterwards.
    let planted: Set<VerifyCase>
    /// What the checker has found to be older than the monitor's last delay, with time for it to look.
    let late: Set<VerifyCase>
    /// What it has found to be older than any change that had returned.
    let old: Set<VerifyCase>

    /// - Parameters:
    ///   - folder: Where the histories lie.
    ///   - bound: How old a value is at the least that the monitor must have found.
    ///   - found: What it has found.
    ///   - planted: What was planted.
    /// - Throws: `CheckerError`.
    init(
        _ folder: String,
        bound: Duration,
        found: [VerifyCase: Set<String>],
        planted: Set<VerifyCase>
    ) throws {
        (self.found, self.planted) = (found, planted)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".history") }.sorted().map { folder + "/" + $0 }
        let history = try History(files: files)
        late = try Self.cases(history, bound: bound)
        old = try Self.cases(history, bound: .zero)
    }

    private static func cases(_ history: History, bound: Duration) throws -> Set<VerifyCase> {
        var checker = StalenessChecker(bounds: StalenessBounds(normal: StalenessBound(fleet: bound, own: bound)))
        checker.examplesPerKind = 1_000_000
        let report = try checker.check(history)
        guard report.isComplete, report.totals.gets > 0 else {
            throw VerifyFleet.Failure(description: "the history is not complete: \(report)")
        }
        return Set(
            report.examples.filter { $0.kind == .stale || $0.kind == .ownStale }
                .compactMap { violation in
                    // "3 (process 4711)"
                    Int(violation.instance.prefix { $0.isNumber }).map { VerifyCase(instance: $0, key: violation.key) }
                }
        )
    }

    /// What the monitor should have found.
    var missed: [VerifyCase] { late.union(planted).subtracting(found.keys).sorted() }

    /// What it has found without cause.
    var unfounded: [VerifyCase] { Set(found.keys).subtracting(old).subtracting(planted).sorted() }
}
