/// What a read carries down through the levels.
public struct ReadRequest: Sendable {
    /// What a read is for.
    public enum Purpose: Sendable, Hashable {
        /// A caller waits for the value.
        case read
        /// A level above holds this version and wants a newer one.
        case refresh(of: EntryVersion)
    }

    /// Notes the steps of the read; `nil` when the caller wants no trace.
    public var recorder: ReadTraceRecorder?
    /// Whether a read of several keys goes on when some fail; those are then `nil`.
    ///
    /// Otherwise the first failure ends the read. Has no effect on a single key.
    public var leavesOutFailures: Bool
    /// How the read differs from an ordinary one.
    public var options: ReadOptions
    /// What the read is for.
    public var purpose: Purpose
    /// Whether a level above has a stale value to serve when this read fails or takes too long.
    public var hasFallback: Bool
    /// The entry to replace, for a source that can tell whether it still holds.
    package var basis: (any Sendable)?
    /// The same for each key of a batch, a `[Key: Entry<Value>]`.
    package var bases: (any Sendable)?
    /// Whether what is set reaches the source later.
    ///
    /// Then the rights to fill are taken before the upper level is asked: a later `set` fills that level, perhaps long
    /// before it reaches the source.
    package var writesLater = false
    /// The source that the call has brought with it; `nil` for a read that goes by the levels' own.
    package var callSource: (any AnyCallSource)?
    /// Whether a level above is filled with the answer when those below are.
    package var fillsAbove = false
    /// Notes which fetches go on without the read; `nil` where their results are not wanted.
    package var left: LeftFlights?
    /// The fetches that another read has left: this one begins none, and gets their results, or `nil`.
    @usableFromInline
    package var awaited: LeftFlights?
    /// Whether a level above decides whether what is found is served, and so tells of hits.
    @usableFromInline
    package var isJudgedAbove = false

    /// Where a level puts the right to fill it; then nothing is read, and the answer is `nil`.
    @usableFromInline
    package var rights: FillRights?

    /// The answers that conditions gave before, when only memory was asked.
    @usableFromInline
    package var answers = ConditionAnswers()
    /// Notes which keys of a batch have failed, where failures are left out.
    package var leftOut: FailureNotes?
    /// Is told when it makes sense to ask again for what has failed.
    package var retryHint: RetryHint?

    /// A request, by default that of an ordinary read.
    @inlinable
    public init(
        recorder: ReadTraceRecorder? = nil,
        leavesOutFailures: Bool = false,
        options: ReadOptions = ReadOptions(),
        purpose: Purpose = .read,
        hasFallback: Bool = false
    ) {
        self.recorder = recorder
        self.leavesOutFailures = leavesOutFailures
        self.options = options
        self.purpose = purpose
        self.hasFallback = hasFallback
    }

    /// A request that reads nothing, and asks for the right to fill the level.
    package init(claiming rights: FillRights) {
        self.init()
        self.rights = rights
    }

    /// Whether the answer may be shared with others who ask for the same key at the same time.
    package var isShareable: Bool { purpose == .read && options == .ordinary && rights == nil && awaited == nil }

    /// The same request for one key of those that it is for, which has a record of its own.
    package func of(_ key: some Hashable & Sendable) -> ReadRequest {
        guard let part = recorder?.part(of: key) else { return self }
        var request = self
        request.recorder = part
        return request
    }

    /// The same request for one key of those that it is for, with the old entry that a level above has of it.
    package func of<Key: Hashable & Sendable, Value: Sendable>(_ key: Key, in: Value.Type) -> ReadRequest {
        var request = of(key).asking(for: key)
        guard let bases else { return request }
        request.bases = nil
        if let old = (bases as? [Key: Entry<Value>])?[key] { request.basis = old }
        return request
    }

    /// The same request, failing with the first key that fails.
    package var strict: ReadRequest {
        var request = self
        request.leavesOutFailures = false
        return request
    }

    /// The same request before anything has been answered.
    package var anew: ReadRequest {
        var request = self
        request.answers = ConditionAnswers()
        return request
    }

    /// The same request for several keys of a level above another one: a key that fails is asked for below, and no
    /// other.
    func going(on notes: FailureNotes) -> ReadRequest {
        var request = self
        request.leavesOutFailures = true
        request.leftOut = notes
        return request
    }

    /// The same request by a level that decides whether what is found is served.
    package var judged: ReadRequest {
        var request = self
        request.isJudgedAbove = true
        return request
    }

    /// The same request by a level that is filled with the answer.
    package var filling: ReadRequest {
        var request = self
        request.fillsAbove = true
        return request
    }

    /// The same request to a level whose values have another form than the old entry has.
    package var withoutBasis: ReadRequest {
        guard basis != nil || bases != nil else { return self }
        var request = self
        request.basis = nil
        request.bases = nil
        return request
    }

    /// The same request to a level that knows the keys of the batch under other names.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - names: What they are called there, in the same order. Of keys that become one, the first counts.
    ///   - value: The type of the values.
    /// - Returns: The request.
    func renaming<Key: Hashable & Sendable, Name: Hashable & Sendable, Value: Sendable>(
        _ keys: [Key],
        to names: [Name],
        of value: Value.Type
    ) -> ReadRequest {
        var request = self
        request.recorder = recorder?.renaming(keys, to: names)
        request.bases = nil
        request.callSource = callSource?.renaming(keys, to: names)
        guard let old = bases as? [Key: Entry<Value>] else { return request }
        request.add(bases: zip(keys, names).reversed().compactMap { key, name in old[key].map { (name, $0) } })
        return request
    }

    /// Adds the old entries that a level has of keys of a batch.
    mutating func add<Key: Hashable & Sendable, Value: Sendable>(bases old: [(Key, Entry<Value>)]) {
        guard !old.isEmpty else { return }
        let others = bases as? [Key: Entry<Value>] ?? [:]
        bases = old.reduce(into: others) { $0[$1.0] = $1.1 }
    }

    /// The same request by a level that holds an old entry.
    package func having<Value>(_ old: Entry<Value>?, asFallback isFallback: Bool) -> ReadRequest {
        var request = self
        request.hasFallback = hasFallback || isFallback
        if let old { request.basis = old }
        return request
    }
}
