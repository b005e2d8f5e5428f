/// A level with another one that is read when the first has failed.
///
/// | operation | reaches |
/// |---|---|
/// | get | the first level; the fallback when that throws, but not when it misses |
/// | set, remove, clear, memory pressure | both levels |
///
/// Where the options of a read leave the first level out, the fallback answers. Unlike a composition, a miss of the
/// first level is the answer, and what the fallback had is not written into the first. A cancellation is not recovered.
///
/// ```swift
/// let sessions = primary.recover(with: replica)
/// ```
public struct FallingBack<First: CacheLevel, Second: CacheLevel>: PairedLevel
where First.Key == Second.Key, First.Value == Second.Value {
    public typealias Key = First.Key
    public typealias Value = First.Value

    @usableFromInline
    package let pair: Pair<First, Second>
    private let recoveries = Tally()

    init(_ first: First, _ second: Second) {
        pair = Pair(first, second)
    }

    /// The level that is asked when the first has failed.
    private var fallback: Second { pair.second }

    /// The first level's entry; the fallback's when the first has thrown.
    ///
    /// - Throws: What the fallback throws, as it is, when both have failed; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.rights != nil { return try await pair.claim(key, request) }
        if request.awaited != nil { return try await pair.awaited(key, request) }
        if request.passesOver(first) {
            guard !request.passesOver(fallback) else { return nil }
            return pair.marked(try await fallback.entry(for: key, request), isFirst: false)
        }
        let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
        do {
            return pair.marked(try await first.entry(for: key, request), isFirst: true)
        } catch {
            guard !(error is CancellationError) else { throw error }
            try Task.checkCancellation()
            recovers(from: error, request, since: start)
            if request.spares(fallback) { return nil }
            return pair.marked(try await fallback.entry(for: key, request), isFirst: false)
        }
    }

    /// The first level's entries, and the fallback's of those keys that have failed there.
    ///
    /// Each is asked by one call.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await keys.concurrently { try await pair.claim($0, request) } }
        if request.passesOver(first) {
            guard !request.passesOver(fallback) else { return Array(repeating: nil, count: keys.count) }
            return try await fallback.entries(for: keys, request).map { pair.marked($0, isFirst: false) }
        }
        let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
        let notes = FailureNotes()
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        do {
            entries = try await first.entries(for: keys, request.going(on: notes))
                .map { pair.marked($0, isFirst: true) }
        } catch {
            notes.add(error)
        }
        let failures = notes.all
        guard !failures.isEmpty else { return entries }
        try Task.checkCancellation()
        // A source's own cancellation is not recovered: it ends a batch, unless the batch leaves failures out.
        let cancellation = failures.first { $0 is CancellationError }
        if let cancellation, !request.leavesOutFailures { throw cancellation }
        for error in failures where !(error is CancellationError) { recovers(from: error, request, since: start) }
        if request.spares(fallback) { return entries }
        // Where it is not known which keys have failed, the fallback is asked for all that are missing.
        let errors = notes.errors(of: keys)
        var failed = keys.indices.filter { entries[$0] == nil && (errors == nil || errors?[$0] != nil) }
        if let cancellation {
            let isOne = { (index: Int) in errors.map { $0[index] is CancellationError } ?? (failures.count == 1) }
            for index in failed where isOne(index) { request.leftOut?.add(cancellation, of: keys[index]) }
            failed.removeAll(where: isOne)
        }
        let recovered = try await fallback.entries(of: keys, at: failed, request)
        for index in failed { entries[index] = pair.marked(recovered[index], isFirst: false) }
        return entries
    }

    /// The value in the first level's memory.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? { pair.first.resident(key, at: now) }

    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? { pair.first.resident(key, at: now, &answers) }

    /// How many reads went to the fallback since the start.
    package var recovered: Int { recoveries.count }

    public var label: LevelLabel {
        LevelLabel(
            "recovered, by the second level",
            counters: [.init("recoveries", recovered)],
            parts: [first.label, fallback.label]
        )
    }

    /// Notes that the fallback is asked.
    private func recovers(from error: any Error, _ request: ReadRequest, since start: MonotonicInstant) {
        recoveries.add()
        request.failed(error, at: first, since: start)
    }
}

extension FallingBack: Fetcher where First: Fetcher, Second: Fetcher {}

extension FallingBack: AtomicLevel where First: Fetcher, Second: Fetcher {}

extension CacheLevel {
    /// This level with another one that is read when this one has failed.
    public func recover<Other: CacheLevel>(with fallback: Other) -> FallingBack<Self, Other>
    where Other.Key == Key, Other.Value == Value {
        FallingBack(self, fallback)
    }
}
