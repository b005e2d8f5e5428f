/// What levels hand to each other: a value, or the knowledge that there is none, with its lifetime.
///
/// Users speak in values; only levels and tests see entries. An entry that is filled upward keeps its remaining lifetime:
/// both ends of it are instants, not durations.
public struct Entry<Value: Sendable>: Sendable {
    /// What is known of the key.
    public enum Content: Sendable {
        /// It has this value.
        case value(Value)
        /// It has none. That is an answer, with a lifetime of its own, and not a miss.
        case absent
    }

    /// What is known of the key.
    public var content: Content
    /// Until when the entry is served without question.
    public var freshUntil: MonotonicInstant
    /// Until when the entry may be served flagged as stale, when the levels below fail.
    ///
    /// Never earlier than `freshUntil`.
    public var staleUntil: MonotonicInstant
    /// When it should be fetched anew in the background, if somebody asks for it.
    ///
    /// Never later than `freshUntil`.
    public var refreshAt: MonotonicInstant
    /// Until when the entry is served at once although it is stale, while it is fetched anew.
    ///
    /// Never later than `staleUntil`.
    public var revalidateUntil: MonotonicInstant
    /// When the entry was made; ``MonotonicInstant/distantPast`` when that is not known.
    public var storedAt: MonotonicInstant
    /// The write that this entry comes from.
    public var version: EntryVersion
    /// The labels by which it can be invalidated together with others.
    public var tags: [String]
    /// How long fetching the value took.
    public var fetchDuration: Duration
    /// Where the entry was found.
    public var origin: EntryOrigin
    /// The right of levels above to keep the entry.
    public var ticket: Ticket
    /// Whether the entry is handed out although nobody can tell at the moment whether it has changed.
    public var isSuspect: Bool
    /// Tells whether one of the tags was invalidated since; `nil` when there are none, or nobody has looked.
    public var seal: TagSeal?
    /// The number of the shared level's invalidations that stood when the fetch of the entry began; 0 when there is none.
    public var asOf: UInt64
    /// Whether the entry is another caller's too, whose read this one has joined: that one takes it up the levels as well.
    @usableFromInline
    package var isJoined = false
    /// For an entry that a level is filled with: the rights that were taken before it was asked for; `nil` for one that a user
    /// has set.
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

    /// Whether the entry is served without question at `now`.
    @inlinable
    public func isFresh(at now: MonotonicInstant) -> Bool { now < freshUntil }

    /// Whether the entry may still be served when nothing better is to be had.
    @inlinable
    public func isUsable(at now: MonotonicInstant) -> Bool { now < staleUntil }

    /// How old the entry is; `nil` when that is not known.
    @inlinable
    public func age(at now: MonotonicInstant) -> Duration? {
        storedAt == .distantPast ? nil : max(.zero, storedAt.duration(to: now))
    }

    /// Ends the entry's freshness at `end` if it would end later; it is then no longer served without asking below.
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
        mapped.rights = rights
        return mapped
    }

    /// The same entry for somebody who has joined the read that has brought it.
    package var joined: Entry {
        var entry = self
        entry.ticket = ticket.ofJoined
        entry.isJoined = true
        return entry
    }
}

extension Entry: Equatable where Value: Equatable {}
extension Entry.Content: Equatable where Value: Equatable {}
