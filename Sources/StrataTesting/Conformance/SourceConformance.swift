public import Strata

/// Checks of what every cache over a source owes its readers: the options of a read mean the same, no matter how the
/// source is built in.
///
/// ```swift
/// @Test func myCacheConforms() async {
///     let suite = SourceConformance { source in
///         MemoryLevel<String, String>(limit: .entries(100))
///             .compose(ClosureFetcher { (key: String) in try await source(key) })
///     }
///     for finding in await suite.run() { Issue.record("\(finding)") }
/// }
/// ```
///
/// Each check has a cache of its own, which has to be empty. None of them waits for time to pass.
public struct SourceConformance<Level: CacheLevel>: Sendable where Level.Value: Equatable {
    /// Asks the suite's source for a key.
    public typealias Source = @Sendable (Level.Key) async throws -> Level.Value?

    private let make: @Sendable (@escaping Source) async throws -> Level
    private let key: @Sendable (Int) -> Level.Key
    private let value: @Sendable (Int) -> Level.Value

    /// A suite for a cache.
    ///
    /// - Parameters:
    ///   - key: Different keys for different numbers.
    ///   - value: Different values for different numbers.
    ///   - make: Makes an empty cache that keeps what the given source has.
    public init(
        key: @escaping @Sendable (Int) -> Level.Key,
        value: @escaping @Sendable (Int) -> Level.Value,
        make: @escaping @Sendable (@escaping Source) async throws -> Level
    ) {
        self.key = key
        self.value = value
        self.make = make
    }

    /// Runs all checks, one after the other.
    ///
    /// - Returns: The findings; none when the cache conforms.
    public func run() async -> [ConformanceFinding] {
        var findings: [ConformanceFinding] = []
        for check in checks {
            let notes = ConformanceNotes(check.name)
            do {
                let source = CountedSource(value)
                let level = try await make { _ in try source.next() }
                try await check.body(level, source, notes)
                await level.drain(within: .seconds(30))
                try await level.removeAll()
            } catch {
                notes.add("threw \(error)")
            }
            findings += notes.findings
        }
        return findings
    }

    private struct Check: Sendable {
        var name: String
        var body: @Sendable (Level, CountedSource<Level.Value>, ConformanceNotes) async throws -> Void
    }

    private var checks: [Check] {
        [
            Check(name: "a value is fetched once, and kept") { [key, value] level, source, notes in
                notes.expect(try await level.get(key(0)), is: value(1), "get")
                notes.expect(try await level.get(key(0)), is: value(1), "second get")
                notes.expect(source.calls, is: 1, "calls")
            },
            Check(name: "a read of what is cached never asks the source") { [key, value] level, source, notes in
                notes.expect(try await level.get(key(0), .cached), is: nil, "get")
                notes.expect(try await level.get([key(0), key(1)], .cached), is: [nil, nil], "get of two")
                notes.expect(try await level.getWithTrace(key(0), .cached).value, is: nil, "get with a trace")
                notes.expect(source.calls, is: 0, "calls")
                notes.expect(try await level.get(key(0)), is: value(1), "get that may ask")
                notes.expect(try await level.get(key(0), .cached), is: value(1), "get of what is there")
                notes.expect(try await level.get([key(1), key(0)], .cached), is: [nil, value(1)], "get of both")
                notes.expect(source.calls, is: 1, "calls afterwards")
            },
            Check(name: "a reload asks the source, and what it gives takes the place of what was there") {
                [key, value] level, source, notes in
                notes.expect(try await level.get(key(0)), is: value(1), "get")
                notes.expect(try await level.get(key(0), .reload), is: value(2), "reload")
                notes.expect(try await level.get(key(0)), is: value(2), "get afterwards")
                notes.expect(try await level.get([key(0)], .reload), is: [value(3)], "reload of several")
                notes.expect(source.calls, is: 3, "calls")
            },
            Check(name: "a value older than a read allows is fetched again") { [key, value] level, source, notes in
                notes.expect(try await level.get(key(0)), is: value(1), "get")
                let young = ReadOptions(maximumAge: .seconds(-1))
                notes.expect(try await level.get(key(0), young), is: value(2), "get of a younger one")
                let old = ReadOptions(source: .never, maximumAge: .seconds(-1))
                notes.expect(try await level.get(key(0), old), is: nil, "get of a younger one without the source")
                notes.expect(source.calls, is: 2, "calls")
            },
            Check(name: "what the source throws reaches the caller as it is; a read of what is cached is a miss") {
                [key] level, source, notes in
                source.fail()
                for _ in 0..<2 {
                    do {
                        notes.add("a value: \(try await level.get(key(0)) as Any)")
                    } catch {
                        notes.expect(error is CountedSource<Level.Value>.Failure, "threw \(error)")
                    }
                }
                notes.expect(try await level.get(key(0), .cached), is: nil, "get of what is cached")
            },
        ]
    }
}

extension SourceConformance where Level.Key == String, Level.Value == String {
    /// A suite for a cache of texts.
    public init(make: @escaping @Sendable (@escaping Source) async throws -> Level) {
        self.init(key: { "key \($0)" }, value: { "value \($0)" }, make: make)
    }
}

/// A source with another value at each call.
private final class CountedSource<Value: Sendable>: Sendable {
    struct Failure: Error {}

    private let value: @Sendable (Int) -> Value
    private let state = Locked((calls: 0, fails: false))

    init(_ value: @escaping @Sendable (Int) -> Value) {
        self.value = value
    }

    var calls: Int { state.withLock { $0.calls } }

    func fail() { state.withLock { $0.fails = true } }

    func next() throws -> Value {
        let number = try state.withLock { state in
            state.calls += 1
            if state.fails { throw Failure() }
            return state.calls
        }
        return value(number)
    }
}
