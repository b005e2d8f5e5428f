import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

/// A level that other processes share, whose answers a test decides.
private final class ScriptedShared: CacheLevel, ConfirmingLevel {
    struct Failure: Error {}

    let own = FillGate()
    private let script = Locked<@Sendable ([HeldEntry<String>]) throws -> [EntryConfirmation]>({ _ in [] })
    private let asked = Locked<[[String]]>([])

    /// The keys of each question.
    var questions: [[String]] { asked.withLock { $0 } }

    func answer(_ body: @escaping @Sendable ([HeldEntry<String>]) throws -> [EntryConfirmation]) {
        script.withLock { $0 = body }
    }

    /// What is held, with a new ticket.
    func holding(_ held: HeldEntry<String>, freshFor: Duration = .seconds(60)) -> EntryConfirmation {
        let end = MonotonicInstant.now.advanced(by: freshFor)
        let ticket = own.ticket(for: fingerprint(of: held.key))
        return .holds(
            Entry(
                .absent,
                freshUntil: end,
                version: held.version,
                tags: held.tags,
                ticket: ticket,
                seal: own.seal(held.tags)
            )
        )
    }

    var gate: FillGate? { own }

    var confirmation: ConfirmationPlace<String, String>? {
        ConfirmationPlace(name: Array("shared".utf8), codec: .text) { $0.keyBytes }
    }

    func readyToConfirm(within limit: Duration) async throws {}

    func confirm(_ held: [HeldEntry<String>]) async throws -> [EntryConfirmation] {
        asked.withLock { $0.append(held.map(\.key)) }
        return try script.withLock { $0 }(held)
    }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        Entry(
            .value("value of \(key)"),
            freshUntil: MonotonicInstant.now.advanced(by: .seconds(600)),
            version: .random(),
            tags: ["t"],
            ticket: own.ticket(for: fingerprint(of: key))
        )
    }

    func store(_ entry: Entry<String>, for key: String) async throws {}
    func remove(_ key: String) async throws {}
    func removeAll() async throws {}
}

@Suite("What a level that is shared says of hibernated entries", .timeLimit(.minutes(5)))
struct ConfirmingTests {
    /// For as long as it takes on a busy machine.
    private static let limits = HibernationLimits(duration: .seconds(600))

    private let folder: ScratchFolder
    private let shared = ScriptedShared()

    init() throws { folder = try ScratchFolder() }

    private func cache() -> Composed<MemoryLevel<String, String>, ScriptedShared> {
        MemoryLevel<String, String>(limit: .entries(5_000)).compose(shared)
    }

    private func hibernated(_ keys: [String]) async throws {
        let one = cache()
        _ = try await one.get(keys)
        #expect(try await one.hibernate(to: folder.file, limits: Self.limits).written == keys.count)
    }

    @Test("levels around one that confirms hand that on")
    func wrapped() async throws {
        func confirms(_ level: some CacheLevel<String, String>) -> Bool {
            (level as? any ConfirmingLevel<String, String>)?.confirmation != nil
        }
        #expect(confirms(shared.retry()) && confirms(shared.timeout(.seconds(1))) && confirms(shared.capped(2)))
        #expect(confirms(shared.recover { _, _ in nil }) && confirms(shared.pooled()) && confirms(shared.collecting()))
        #expect(!confirms(MemoryLevel<String, String>(limit: .entries(5)).retry()))
        let cache = MemoryLevel<String, String>(limit: .entries(50)).compose(shared.retry())
        _ = try await cache.get(["a"])
        #expect(try await cache.hibernate(to: folder.file, limits: Self.limits).written == 1)
        let shared = shared
        shared.answer { held in held.map { shared.holding($0) } }
        let other = MemoryLevel<String, String>(limit: .entries(50)).compose(shared.retry())
        #expect(try await other.restore(from: folder.file, within: Self.limits.duration).restored == 1)
    }

    @Test("each answer has its count, and only what is held is kept")
    func outcomes() async throws {
        try await hibernated(["a", "b", "c", "d", "e"])
        let shared = shared
        shared.answer { held in
            held.map { held in
                switch held.key {
                case "a": .changed
                case "b": .void
                case "c": .expired
                case "d": .unknown
                default: shared.holding(held)
                }
            }
        }
        let other = cache()
        let report = try await other.restore(from: folder.file, within: Self.limits.duration)
        #expect(report.restored == 1 && report.changed == 1 && report.invalidated == 1)
        #expect(report.expired == 1 && report.unconfirmed == 1 && report.left == 0)
        #expect(other.upper.hottest(9) == ["e"])
        #expect(other.resident("e", at: .coarse)?.value == "value of e")
    }

    @Test("no lifetime is longer than it was, and an entry that ended meanwhile is not kept")
    func lifetimes() async throws {
        try await hibernated(["a", "b"])
        let shared = shared
        shared.answer { held in
            held.map { shared.holding($0, freshFor: $0.key == "a" ? .seconds(1 << 40) : .seconds(-1)) }
        }
        let other = cache()
        let report = try await other.restore(from: folder.file, within: Self.limits.duration)
        #expect(report.restored == 1 && report.expired == 1)
        let entry = try #require(try await other.upper.entry(for: "a", ReadRequest()))
        #expect(MonotonicInstant.now.duration(to: entry.staleUntil) <= .seconds(600))
    }

    @Test("a ticket or a seal that died on the way keeps nothing")
    func dead() async throws {
        try await hibernated(["a", "b", "c"])
        let shared = shared
        shared.answer { held in
            let held = held.map { ($0, shared.holding($0)) }
            shared.own.void(shared.fingerprint(of: "a"))
            return held.map { held, confirmation in
                guard held.key == "b", case .holds(var outline) = confirmation else { return confirmation }
                outline.seal = shared.own.seal(["other"])
                shared.own.void(tags: ["other"])
                return .holds(outline)
            }
        }
        let other = cache()
        let report = try await other.restore(from: folder.file, within: Self.limits.duration)
        #expect(report.restored == 1 && report.changed == 2)
        #expect(other.upper.hottest(9) == ["c"])
    }

    @Test("many keys are asked for some hundreds at a time; a question that fails leaves its own keys unconfirmed")
    func batches() async throws {
        let keys = (0..<1_200).map { "k\($0)" }
        try await hibernated(keys)
        let shared = shared
        shared.answer { held in
            if shared.questions.count == 2 { throw ScriptedShared.Failure() }
            return held.map { shared.holding($0) }
        }
        let other = cache()
        let report = try await other.restore(from: folder.file, within: Self.limits.duration)
        #expect(shared.questions.map(\.count) == [500, 500, 200])
        #expect(report.restored == 700 && report.unconfirmed == 500 && report.failure is ScriptedShared.Failure)
        // An answer to other questions is none.
        shared.answer { held in held.dropLast().map { shared.holding($0) } }
        #expect(try await cache().restore(from: folder.file, within: Self.limits.duration).unconfirmed == 1_200)
        // What takes too long is left, and said to be.
        let late = try await cache().restore(from: folder.file, within: .zero)
        #expect(late.left == 1_200 && late.restored == 0 && late.isWhole)
        shared.answer { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            try await cache().restore(from: folder.file, within: Self.limits.duration)
        }
    }
}
