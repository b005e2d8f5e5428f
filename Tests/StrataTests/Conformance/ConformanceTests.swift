import StrataTesting
import Testing

@testable import Strata

@Suite("Levels conform", .timeLimit(.minutes(5)))
struct ConformanceTests {
    private typealias Memory = MemoryLevel<String, String>

    private static let memory: @Sendable () -> MemoryLevel<String, String> = { Memory(limit: .entries(1_000)) }

    @Test("A134 A135 A138 A140 memory")
    func memory() async {
        expectNone(await CacheLevelConformance(make: Self.memory).run())
    }

    @Test("A013 erased")
    func erased() async {
        expectNone(await CacheLevelConformance { Self.memory().normalized() }.run())
    }

    // Not over a fetcher that has nothing: keys that share a counter of the gate are voided together, and what memory
    // then has to ask for again must be below it.
    @Test("A024 composed, two and three levels, in either grouping")
    func composed() async {
        expectNone(await CacheLevelConformance { Self.memory().compose(Self.memory()) }.run())
        let left = CacheLevelConformance { Self.memory().compose(Self.memory()).compose(Self.memory()) }
        expectNone(await left.run())
        let right = CacheLevelConformance { Self.memory().compose(Self.memory().compose(Self.memory())) }
        expectNone(await right.run())
    }

    @Test("transformed, processed, conditioned, pooled, capped")
    func combined() async {
        let keys = CacheLevelConformance {
            MemoryLevel<[UInt8], String>(limit: .entries(1_000)).transformKeys { (key: String) in Array(key.utf8) }
        }
        expectNone(await keys.run())
        let values = CacheLevelConformance {
            MemoryLevel<String, [UInt8]>(limit: .entries(1_000)).transformValues(Codec<String>.cbor)
        }
        expectNone(await values.run())
        expectNone(await CacheLevelConformance { Self.memory().postProcess { $0 } }.run())
        expectNone(await CacheLevelConformance { Self.memory().conditioned { _ in true } }.run())
        expectNone(await CacheLevelConformance { Self.memory().pooled() }.run())
        expectNone(await CacheLevelConformance { Self.memory().capped(2) }.run())
    }

    @Test("switched, retried, timed, recovered, raced")
    func resilient() async {
        let switched = CacheLevelConformance {
            switchLevels(Self.memory(), Self.memory()) { $0.utf8.count.isMultiple(of: 2) ? .first : .second }
        }
        expectNone(await switched.run())
        expectNone(await CacheLevelConformance { Self.memory().retry() }.run())
        expectNone(await CacheLevelConformance { Self.memory().timeout(.seconds(60)) }.run())
        expectNone(await CacheLevelConformance { Self.memory().recover { _, _ in nil } }.run())
        expectNone(await CacheLevelConformance { Self.memory().recover(with: Self.memory()) }.run())
        expectNone(await CacheLevelConformance { Self.memory().race(Self.memory()) }.run())
    }

    @Test("a level that compares and stores as it should is not suspected")
    func faultless() async {
        expectNone(await CacheLevelConformance(abilities: [.lifetimes, .absences]) { Defective(nil) }.run())
    }

    @Test("a level that breaks its promises is found out", arguments: Defect.allCases)
    func defects(defect: Defect) async {
        let findings = await CacheLevelConformance { Defective(defect) }.run()
        #expect(!findings.isEmpty, "\(defect)")
    }
}

/// What a level can do wrong.
enum Defect: CaseIterable, Sendable {
    case forgets, keepsFirst, removesNothing, clearsNothing, mixesKeys, failsAtAbsent, servesExpired, unordered
    case forgetsAbsence, forgetsTags, forgetsLifetime, comparesNothing, keepsLifetime
}

/// A level with one defect.
private final class Defective: CacheLevel {
    private let defect: Defect?
    private let entries = Locked<[String: Entry<String>]>([:])

    init(_ defect: Defect?) {
        self.defect = defect
    }

    struct Failure: Error {}

    private func name(_ key: String) -> String { defect == .mixesKeys ? String(key.prefix(1)) : key }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        guard var entry = entries.withLock({ $0[name(key)] }) else { return nil }
        if defect == .servesExpired { entry.freshUntil = .distantFuture }
        if defect == .servesExpired || entry.isUsable(at: .now) { return entry }
        return nil
    }

    func entries(for keys: [String], _ request: ReadRequest) async throws -> [Entry<String>?] {
        var found: [Entry<String>?] = []
        for key in keys { found.append(try await entry(for: key, request)) }
        return defect == .unordered ? found.reversed() : found
    }

    func store(_ entry: Entry<String>, for key: String) async throws {
        var entry = entry
        if entry.version == .none { entry.version = .random() }
        if defect == .forgetsTags { entry.tags = [] }
        if defect == .forgetsLifetime { entry.freshUntil = .distantFuture }
        entries.withLock { entries in
            if defect == .forgets || (defect == .keepsFirst && entries[name(key)] != nil) { return }
            entries[name(key)] = defect == .forgetsAbsence && entry.value == nil ? nil : entry
        }
    }

    func remove(_ key: String) async throws {
        try entries.withLock { entries in
            if defect == .removesNothing { return }
            if entries.removeValue(forKey: name(key)) == nil, defect == .failsAtAbsent { throw Failure() }
        }
    }

    func removeAll() async throws { if defect != .clearsNothing { entries.withLock { $0 = [:] } } }
}

extension Defective: AtomicLevel {
    func current(_ key: String) async throws -> CurrentEntry<String>? {
        let entry = entries.withLock { $0[name(key)] }
        let stamp = entry?.version.bytes
        return CurrentEntry(
            entry.flatMap { $0.isUsable(at: .now) ? $0 : nil },
            mark: ChangeMark(stamp: stamp, takenAt: .now)
        )
    }

    func exchange(_ entry: Entry<String>?, for key: String, if mark: ChangeMark) async throws -> Ticket? {
        try entries.withLock { entries in
            let isSame = entries[name(key)]?.version.bytes == mark.stamp
            if !isSame, defect != .comparesNothing { throw CacheError.conflict }
            entries[name(key)] = entry
        }
        return nil
    }

    func changeLifetime(of key: String, _ change: LifetimeChange) async throws -> Bool? {
        entries.withLock { entries in
            guard let old = entries[name(key)], old.isUsable(at: .now), let new = change.applied(to: old, at: .now)
            else { return false }
            if defect != .keepsLifetime { entries[name(key)] = new }
            return true
        }
    }
}

/// Says what was found, which a comparison with nothing does not.
func expectNone(_ findings: [ConformanceFinding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings { Issue.record("\(finding)", sourceLocation: sourceLocation) }
}
