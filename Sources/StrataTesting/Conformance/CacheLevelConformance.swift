public import Strata

/// Checks of what every level owes its users, for a level of Strata's or one of your own.
///
/// ```swift
/// @Test func myLevelConforms() async {
///     let suite = CacheLevelConformance { MyLevel() }
///     for finding in await suite.run() { Issue.record("\(finding)") }
/// }
/// ```
///
/// It needs no test library: it returns its findings as values. Each check has a level of its own, which has to be
/// empty and large enough for a hundred entries. None of them waits for time to pass.
public struct CacheLevelConformance<Level: CacheLevel>: Sendable where Level.Value: Equatable {
    let make: @Sendable () async throws -> Level
    let key: @Sendable (Int) -> Level.Key
    let value: @Sendable (Int) -> Level.Value
    let abilities: LevelAbilities

    /// A suite for a level.
    ///
    /// - Parameters:
    ///   - key: Different keys for different numbers, up to a hundred.
    ///   - value: Different values for different numbers.
    ///   - abilities: What the level can do beyond keeping values.
    ///   - make: Makes an empty level.
    public init(
        key: @escaping @Sendable (Int) -> Level.Key,
        value: @escaping @Sendable (Int) -> Level.Value,
        abilities: LevelAbilities = .all,
        make: @escaping @Sendable () async throws -> Level
    ) {
        self.make = make
        self.key = key
        self.value = value
        self.abilities = abilities
    }

    /// Runs all checks, one after the other.
    ///
    /// - Returns: The findings; none when the level conforms.
    public func run() async -> [ConformanceFinding] {
        var findings: [ConformanceFinding] = []
        for check in checks where check.needs.isSubset(of: abilities) {
            let notes = ConformanceNotes(check.name)
            do {
                let level = try await make()
                try await check.body(level, notes)
                try await level.removeAll()
            } catch {
                notes.add("threw \(error)")
            }
            findings += notes.findings
        }
        return findings
    }

    /// A check, with what it needs.
    struct Check: Sendable {
        var name: String
        var needs: LevelAbilities = []
        var body: @Sendable (Level, ConformanceNotes) async throws -> Void
    }

    private var checks: [Check] {
        valueChecks + batchChecks + entryChecks + changeChecks + concurrencyChecks + gateChecks
    }
}

extension CacheLevelConformance where Level.Key == String, Level.Value == String {
    /// A suite for a level of texts.
    ///
    /// Keys have slashes, dots and other characters that a store might stumble over.
    public init(abilities: LevelAbilities = .all, make: @escaping @Sendable () async throws -> Level) {
        let hard = ["", "/", "../x", "a b", "ä", "a\u{308}\u{1f600}", "%2F", "{a}", "a:b", "*", "'\"", "\0", "\r\n"]
        self.init(
            key: { $0 < hard.count ? hard[$0] : "key \($0)" },
            value: { "value \($0)" },
            abilities: abilities,
            make: make
        )
    }
}

/// Collects what a check finds, from any task.
final class ConformanceNotes: Sendable {
    private let check: String
    private let messages = Locked<[String]>([])

    init(_ check: String) {
        self.check = check
    }

    var findings: [ConformanceFinding] {
        messages.withLock { $0 }.map { ConformanceFinding(check: check, message: $0) }
    }

    func add(_ message: String) { messages.withLock { $0.append(message) } }

    func expect(_ holds: Bool, _ message: @autoclosure () -> String) {
        if !holds { add(message()) }
    }

    func expect<Value: Equatable>(_ found: Value, is wanted: Value, _ what: String) {
        if found != wanted { add("\(what): \(found) in place of \(wanted)") }
    }
}
