/// What levels exchange: a value, or the knowledge that there is none, with its lifetime.
///
/// Users work with values; only levels and tests see entries. An entry that fills an upper level keeps its remaining
/// lifetime, because both of its ends are instants.
public struct Entry<Value: Sendable>: Sendable {
    /// What is known about the key.
    public enum Content: Sendable {
        /// It has this value.
        case value(Value)
        /// It has none. That is an answer, with a lifetime of its own, and not a miss.
        case absent
    }

    /// What is known about the key.
    public var content: Content
    /// Until when the entry is served without question.
    public var freshUntil: MonotonicInstant
    /// Until when the entry may be served as stale when the levels below fail.
    ///
    /// Never earlier than `freshUntil`.
    public var staleUntil: MonotonicInstant
    /// When the entry should be fetched anew in the background, if it is read then.
    ///
    /// Never later than `freshUntil`.
    public var refreshAt: MonotonicInstant
    /// Until when a stale entry is served at once, while it is fetched anew.
    ///
    /// Never later than `staleUntil`.
    public var revalidateUntil: MonotonicInstant
    /// When the entry was made; ``MonotonicInstant/distantPast`` when that is not known.
    public var storedAt: MonotonicInstant
    /// The write that this entry comes from.
    public var version: EntryVersion
    /// The tags by which it can be invalidated.
    public var tags: [String]
    /// How long fetching the value took.
    public var fetchDuration: Duration
    /// Where the entry was found.
    public var origin: EntryOrigin
    /// The right of levels above to keep the entry.
    public var ticket: Ticket
    /// Whether the entry is served although the level cannot tell whether it has changed.
    public var isSuspect: Bool
    /// Whether one of the tags was invalidated since; `nil` for no tags, or when they were not checked.
    public var seal: TagSeal?
    /// The invalidation number of the shared level when the entry's fetch began; 0 when there is none.
    public var asOf: UInt64
    /// Whether this caller joined another caller's read, which fills the levels above.
    @usableFromInline
    package var isJoined = false
    /// Whether ``version`` was drawn for the write that is under way: a shared level then stores the entry under it.
    @usableFromInline
    package var hasNewVersion = false
    /// For an entry that a level is filled with: the gate of its ticket; `nil` for one that a user sets.
    @usableFromInline
    package var filling: FillGate?
    /// For an entry that a level is filled with: the rights that were taken before it was asked for; `nil` for one that
    /// a user has set.
    @usableFromInline
    package var rights: FillRights?

    /// An entry with all its parts.
    @inlinable
    public init(
        _ content: Content,
        freshUntil: MonotonicInstant = .distantFuture,
        staleUntil: MonotonicInstant = .distantPast,
        refreshAt: MonotonicInstant = .distantFuture,
        revalidateUntil: MonotonicInstant = .distantPast,
        storedAt: MonotonicInstant = .distantPast,
        version: EntryVersion = .none,
        tags: [String] = [],
        fetchDuration: Duration = .zero,
        origin: EntryOrigin = .source,
        ticket: Ticket = .none,
        isSuspect: Bool = false,
        seal: TagSeal? = nil,
        asOf: UInt64 = 0
    ) {
        self.content = content
        self.freshUntil = freshUntil
        self.staleUntil = max(staleUntil, freshUntil)
        self.refreshAt = min(refreshAt, freshUntil)
        self.revalidateUntil = min(revalidateUntil, self.staleUntil)
        self.storedAt = storedAt
        self.version = version
        self.tags = tags
        self.fetchDuration = fetchDuration
        self.origin = origin
        self.ticket = ticket
        self.isSuspect = isSuspect
        self.seal = seal
        self.asOf = asOf
    }

    /// An entry of a value that does not expire.
    @inlinable
    public init(value: Value) {
        self.init(.value(value))
    }

    /// The value; `nil` when the key is known to have none.
    @inlinable
    public var value: Value? {
        if case .value(let value) = content { value } else { nil }
    }

    /// Whether a level is being filled with what a read has found below it; else a user sets it.
    @inlinable
    package var isFill: Bool { filling != nil }

    /// Whether the entry is served without question at `now`.
    @inlinable
    public func isFresh(at now: MonotonicInstant) -> Bool { now < freshUntil }

    /// Whether the entry may still be served when there is nothing better.
    @inlinable
    public func isUsable(at now: MonotonicInstant) -> Bool { now < staleUntil }

    /// How old the entry is; `nil` when that is not known.
    @inlinable
    public func age(at now: MonotonicInstant) -> Duration? {
        storedAt == .distantPast ? nil : max(.zero, storedAt.duration(to: now))
    }

    /// Moves the end of the entry's freshness forward to `end`; from then on a read asks below first.
    @inlinable
    package mutating func shorten(to end: MonotonicInstant) {
        freshUntil = min(freshUntil, end)
        refreshAt = min(refreshAt, end)
        revalidateUntil = min(revalidateUntil, end)
    }

    /// The same entry with another value of another type; absence stays absence.
    @inlinable
    public func map<Other: Sendable, Failure: Error>(
        _ transform: (Value) async throws(Failure) -> Other
    ) async throws(Failure) -> Entry<Other> {
        let content: Entry<Other>.Content =
            switch content {
            case .value(let value): .value(try await transform(value))
            case .absent: .absent
            }
        var mapped = Entry<Other>(
            content,
            freshUntil: freshUntil,
            staleUntil: staleUntil,
            refreshAt: refreshAt,
            revalidateUntil: revalidateUntil,
            storedAt: storedAt,
            version: version,
            tags: tags,
            fetchDuration: fetchDuration,
            origin: origin,
            ticket: ticket,
            isSuspect: isSuspect,
            seal: seal,
            asOf: asOf
        )
        mapped.isJoined = isJoined
        mapped.hasNewVersion = hasNewVersion
        mapped.filling = filling
        mapped.rights = rights
        return mapped
    }

    /// The same entry for a write that is about to be made, with a version of its own, unless it has one.
    ///
    /// The caller that stores an entry in several levels draws the version that the shared level writes. So all levels
    /// know it, and none has to report it.
    package func withNewVersion() -> Entry {
        guard !hasNewVersion else { return self }
        var entry = self
        (entry.version, entry.hasNewVersion) = (.random(), true)
        return entry
    }

    /// The same entry for a caller that joined the read.
    package var joined: Entry {
        var entry = self
        entry.ticket = ticket.ofJoined
        entry.isJoined = true
        return entry
    }
}

extension Entry: Equatable where Value: Equatable {}
extension Entry.Content: Equatable where Value: Equatable {}
