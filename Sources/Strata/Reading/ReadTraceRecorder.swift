/// Records the steps of one read.
///
/// Safe to share: a read may run in several tasks.
public final class ReadTraceRecorder: Sendable {
    /// What the recorders of a batch's keys have in common.
    private final class Common: Sendable {
        /// The steps of all keys.
        let steps = Locked<[ReadTrace.Step]>([])
        let scope = Locked<(any FetchScope)?>(nil)
    }

    private let common: Common
    /// The steps of one key of a batch; `nil` where all steps are those of the read.
    private let own: Locked<[ReadTrace.Step]>?
    private let staleReason = Locked<ReadTrace.StaleReason?>(nil)
    /// The recorders of a batch's keys.
    private let parts: [AnyKey: ReadTraceRecorder]

    /// An empty record.
    public init() {
        common = Common()
        own = nil
        parts = [:]
    }

    private init(_ common: Common) {
        self.common = common
        own = Locked([])
        parts = [:]
    }

    private init(_ common: Common, _ parts: [AnyKey: ReadTraceRecorder]) {
        self.common = common
        own = nil
        self.parts = parts
    }

    /// An empty record of a read of several keys, with a part for each.
    package convenience init(for keys: some Sequence<any Hashable & Sendable>) {
        let common = Common()
        self.init(common, Dictionary(keys.map { (AnyKey($0), ReadTraceRecorder(common)) }) { first, _ in first })
    }

    /// The steps so far, in order; also those of a read that failed.
    public var steps: [ReadTrace.Step] { own?.withLock { $0 } ?? common.steps.withLock { $0 } }

    /// What surrounds the fetches of this read; `nil` for nothing.
    package var scope: (any FetchScope)? {
        get { common.scope.withLock { $0 } }
        set { common.scope.withLock { $0 = newValue } }
    }

    // MARK: Batches

    /// Whether each key has a record of its own.
    package var isOfSeveral: Bool { !parts.isEmpty }

    /// The record of one key of a batch; `nil` where keys have none of their own.
    package func part(of key: some Hashable & Sendable) -> ReadTraceRecorder? { parts[AnyKey(key)] }

    /// The same record for a level that knows the keys under other names.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - names: What they are called there, in the same order. Of keys that become one, the first has the steps.
    /// - Returns: The record, with the steps of both.
    func renaming(_ keys: [some Hashable & Sendable], to names: [some Hashable & Sendable]) -> ReadTraceRecorder {
        guard isOfSeveral else { return self }
        let parts = zip(keys, names).compactMap { key, name in part(of: key).map { (AnyKey(name), $0) } }
        return ReadTraceRecorder(common, Dictionary(parts) { first, _ in first })
    }

    // MARK: Steps

    /// Adds a step.
    public func step(
        _ event: ReadTrace.Event,
        at origin: EntryOrigin,
        from start: MonotonicInstant,
        to end: MonotonicInstant,
        whom: String? = nil,
        error: String? = nil,
        reason: ReadTrace.Reason? = nil
    ) {
        add(ReadTrace.Step(event, origin, start.duration(to: end), whom: whom, error: error, reason: reason))
    }

    /// Notes for how long the read has waited for another process.
    ///
    /// - Parameters:
    ///   - whom: The name of the instance that was fetching.
    ///   - leader: The span of its read.
    ///   - origin: Where.
    ///   - start: When the wait began.
    ///   - end: When it ended.
    package func waited(
        for whom: String,
        _ leader: TraceParent?,
        at origin: EntryOrigin,
        from start: MonotonicInstant,
        to end: MonotonicInstant
    ) {
        add(ReadTrace.Step(.waited, origin, start.duration(to: end), whom: whom, leader: leader))
    }

    private func add(_ step: ReadTrace.Step) {
        own?.withLock { $0.append(step) }
        common.steps.withLock { $0.append(step) }
    }

    /// Takes back the hit of the level that was asked last: its entry cannot be served.
    ///
    /// - Parameters:
    ///   - reason: Why not.
    ///   - origin: The level, for one that has not noted its hit.
    package func reject(because reason: ReadTrace.Reason, at origin: EntryOrigin) {
        let old = steps.last { $0.event == .hit }
        var new = old ?? ReadTrace.Step(.miss, origin, .zero)
        new.event = .miss
        new.reason = reason
        guard let old else { return add(new) }
        own?.withLock { Self.replace(old, by: new, in: &$0) }
        common.steps.withLock { Self.replace(old, by: new, in: &$0) }
    }

    private static func replace(_ old: ReadTrace.Step, by new: ReadTrace.Step, in steps: inout [ReadTrace.Step]) {
        if let place = steps.lastIndex(of: old) { steps[place] = new }
    }

    /// Says why a stale value is returned.
    ///
    /// The level nearest to the caller calls it last.
    public func stale(because reason: ReadTrace.StaleReason) {
        staleReason.withLock { $0 = reason }
    }

    // MARK: Result

    /// A value within its lifetime needs a reason as well, if the read meant to replace it and could not.
    private func reason(for state: ReadTrace.State) -> ReadTrace.StaleReason? {
        let reason = staleReason.withLock { $0 }
        switch state {
        case .stale: return reason
        case .fresh: return reason == .failed || reason == .late ? reason : nil
        case .suspect, .absent: return nil
        }
    }

    func trace<Value>(for entry: Entry<Value>?, at now: MonotonicInstant, took duration: Duration) -> ReadTrace {
        let state: ReadTrace.State =
            switch entry?.content {
            case .value where entry?.isSuspect == true: .suspect
            case .value: entry?.isFresh(at: now) == false ? .stale : .fresh
            case .absent, nil: .absent
            }
        return ReadTrace(
            origin: entry?.origin,
            state: state,
            staleReason: reason(for: state),
            age: entry?.age(at: now),
            duration: duration,
            steps: steps
        )
    }
}

/// A key of any type.
private struct AnyKey: Hashable, Sendable {
    private let key: any Hashable & Sendable

    init(_ key: any Hashable & Sendable) {
        self.key = key
    }

    static func == (left: AnyKey, right: AnyKey) -> Bool { AnyHashable(left.key) == AnyHashable(right.key) }

    func hash(into hasher: inout Hasher) { AnyHashable(key).hash(into: &hasher) }
}
