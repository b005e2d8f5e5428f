import FleetChecker
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("A report")
struct StalenessReportTests {
    typealias S = Scripted

    /// 1 000 reads, of which the last `old` are 1, 2, 3 … milliseconds old.
    private func report(old: Int, of reads: Int = 1_000) throws -> StalenessReport {
        let millisecond: UInt64 = 1_000_000
        var events = [S.write(2, 1...2), S.invalidate(2, 3...millisecond)]
        for number in 0..<reads {
            let age = UInt64(max(0, number - (reads - old) + 1))
            events.append(S.get(age > 0 ? 1 : 2, by: 1, millisecond * (1 + age)...millisecond * (2 + age)))
        }
        return try S.check(events) { $0.bounds.normal.fleet = .seconds(1) }
    }

    @Test("tells how many nines of the reads lay within what age")
    func nines() throws {
        let none = try #require(try report(old: 0).staleness[.normal])
        #expect(none.points.map(\.nines) == [1, 2, 3])
        #expect(none.points.allSatisfy { $0.within == .zero })
        #expect(none.worst == .zero && none.staleReads == 0 && none.reads == 1_000)

        let few = try #require(try report(old: 20).staleness[.normal])
        #expect(few.points.map(\.within) == [.zero, .milliseconds(10), .milliseconds(19)])
        #expect(few.worst == .milliseconds(20) && few.staleReads == 20)

        let all = try #require(try report(old: 99, of: 99).staleness[.normal])
        // Of 99 reads one in ten, rounded down, may lie above.
        #expect(all.points.map(\.within) == [.milliseconds(90)])
        #expect(try report(old: 0, of: 9).staleness[.normal]?.points.isEmpty == true)
    }

    @Test("keeps the first examples of each kind in time, and counts all")
    func examples() throws {
        let change = [S.write(2, 10...20), S.invalidate(2, 30...50)]
        let starts: [UInt64] = [900, 300, 700, 200, 800, 600, 400]
        let reads = starts.map { S.get(1, by: 1, $0...$0 + 5) } + [S.get(7, by: 2, 950...960)]
        func report(_ examples: Int) throws -> StalenessReport {
            try S.check(change + reads) { $0.examplesPerKind = examples }
        }
        let three = try report(3)
        #expect(three.violationCounts == [.stale: 7, .thinAir: 1] && three.violations == 8)
        let stale = three.examples.filter { $0.kind == .stale }
        #expect(stale.map(\.start) == [.nanoseconds(190), .nanoseconds(290), .nanoseconds(390)])
        #expect(three.examples.count == 4)
        #expect(try report(0).examples.isEmpty)
        #expect(try report(-1).violations == 8)
    }

    @Test("speaks in whole sentences")
    func text() throws {
        let events = [
            S.write(2, 1_000_000...2_000_000), S.invalidate(2, by: 4, 3_000_000...5_000_000),
            S.get(1, key: 0, by: 7, 2_000_000_000...2_000_001_000, from: .redis),
        ]
        let report = try S.check(events)
        let text = report.description
        #expect(text.hasPrefix("VIOLATIONS: 1\n"))
        #expect(
            text.contains(
                "key 0: a get by instance 7 at +1.999000 s, from redis, gave version 1, when an invalidation "
                    + "of version 2 by instance 4 had returned 1995.000 ms before; the bound is 0.000 ms"
            )
        )
        #expect(text.contains("normal reads: 1, 1 of them old, worst 1995.000 ms"))
        #expect(text.contains("seed 1"))
        #expect(try S.check([S.get(1, by: 1, 5...6)]).description.hasPrefix("no violation, worst staleness 0.000 ms"))
        let nothing = try S.check([])
        #expect(nothing.description.hasPrefix("no violation, but nothing was read"))
        #expect(!nothing.isClean)
    }

    @Test("is one line of JSON with fixed names")
    func json() throws {
        struct Form: Decodable {
            var clean: Bool
            var seed: UInt64
            var violations: Int
            var violations_by_kind: [String: Int]
            var examples: [Example]
            var worst_staleness_ms: Double
            var staleness: [String: Ages]
            var fetches: [String: Int]
            var totals: [String: UInt64]
            struct Example: Decodable {
                var kind: String
                var key: Int
                var staleness_ms: Double?
                var text: String
            }
            struct Ages: Decodable {
                var reads: Int
                var nines_within_ms: [Double]
            }
        }
        let events = [
            S.write(2, 10...20), S.invalidate(2, 30...50), S.get(1, by: 1, 1_000_050...1_000_060),
            S.fetch(2, by: 1, 60...70), S.get(9, by: 1, 80...90),
        ]
        let report = try S.check(events)
        let line = try report.json()
        #expect(!line.contains("\n"))
        let form = try JSONDecoder().decode(Form.self, from: Data(line.utf8))
        #expect(!form.clean && form.seed == 1 && form.violations == 2)
        #expect(form.violations_by_kind["stale"] == 1 && form.violations_by_kind["thin_air"] == 1)
        #expect(form.violations_by_kind["own_stale"] == 0 && form.violations_by_kind.count == 8)
        #expect(form.worst_staleness_ms == 1)
        #expect(form.staleness["normal"]?.reads == 1)
        #expect(form.fetches["fetches"] == 1)
        #expect(form.totals["gets"] == 2 && form.totals["events"] == 5)
        let stale = try #require(form.examples.first { $0.kind == "stale" })
        #expect(stale.staleness_ms == 1 && stale.key == 0)
        #expect(stale.text == report.examples.first { $0.kind == .stale }?.description)
    }
}
