/// A level that changes an entry only if it has not changed since it was read.
///
/// ``update(_:lifetime:tags:within:_:)`` is made of two methods here: read what the level has, make a new entry of it,
/// and put it in its place unless the key has changed meanwhile; then begin anew. So are
/// ``setIfAbsent(_:for:lifetime:tags:within:)``, ``compareAndSet(_:from:to:lifetime:tags:within:)`` and
/// ``take(_:within:)``; ``touch(_:lifetime:within:)`` and ``expire(_:within:)`` ask ``changeLifetime(of:_:)``.
///
/// A composition asks its lowest level that keeps entries: the one that all instances share. A level around another one
/// forwards the calls. Fetchers keep nothing and say so; write `extension MyFetcher: AtomicLevel {}` for one of your
/// own.
///
/// Rules for a level of your own:
///
/// 1. ``current(_:)`` looks past everything that may be older than what the level has.
/// 2. ``exchange(_:for:if:)`` compares and stores in one step, for all processes that share the level. A late or
///    repeated step does nothing.
/// 3. A level that ``CoherentLevel/keepsTickets`` asks ``ChangeMark/ticket()`` in that step.
public protocol AtomicLevel<Key, Value>: CacheLevel {
    // Declared again, so that the protocol can name them.
    /// What entries are found by.
    associatedtype Key
    /// What is kept.
    associatedtype Value

    /// The level's present entry of a key, with a mark by which the level knows later whether the key has changed.
    ///
    /// - Returns: `nil` when no level here keeps entries.
    /// - Throws: ``CacheError/Code/conflict`` when that cannot be told at the moment; what reading throws.
    func current(_ key: Key) async throws -> CurrentEntry<Value>?

    /// Puts an entry in the place of what was read, or removes that, unless the key has changed since.
    ///
    /// - Parameters:
    ///   - entry: The new entry; `nil` removes the key.
    ///   - key: The key.
    ///   - mark: What ``current(_:)`` has returned.
    /// - Returns: As ``CoherentLevel/commit(_:for:)``.
    /// - Throws: ``CacheError/Code/conflict`` when the key has changed, and then nothing was stored;
    ///   ``CacheError/Code/outcomeUnknown`` when the level cannot tell; what storing throws, and then nothing was
    ///   stored.
    func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket?

    /// Changes how long a value of the level lives, in one step.
    ///
    /// Levels above drop the key. By default this is ``current(_:)`` and ``exchange(_:for:if:)``, which move the value;
    /// a level that can leave it where it is does so.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - change: What happens to the lifetime.
    /// - Returns: Whether there was such a value, and it still is kept; `nil` when no level here keeps entries.
    /// - Throws: As ``exchange(_:for:if:)``.
    func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool?

    /// Compares a key with a value that this process writes to the source later, in one step for all who share the
    /// level.
    ///
    /// Asked only of levels with a ``CoherentLevel/gate``. By default the key is removed for everything but a look,
    /// which is right and costs a fetch.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - write: The value's version, and what to do.
    /// - Returns: What the level has; `nil` when no level here keeps entries.
    /// - Throws: What reading or removing throws.
    func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing?
}

extension AtomicLevel {
    /// Removes the key, unless it is only looked at.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        if write.step != .looks { try await remove(key) }
        return .gone
    }

    /// Reads the entry and exchanges it.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        try await exchangeLifetime(of: key, change)
    }

    /// Reads the entry and exchanges it.
    func exchangeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        guard let found = try await current(key) else { return nil }
        guard let old = found.entry, old.value != nil,
            let new = change.applied(to: old, at: (clock ?? .system).now, by: policy, fingerprint: fingerprint(of: key))
        else { return false }
        _ = try await exchange(new.written(anew: found.mark), for: key, if: found.mark)
        return true
    }

    /// Stores what the level had before one invalidation of tags by the caller, unless the key was changed, or other
    /// tags were invalidated, between the two looks.
    ///
    /// - Parameters:
    ///   - entry: What the level had.
    ///   - key: Its key.
    ///   - mark: The mark of that look.
    ///   - account: What the invalidation has done.
    /// - Throws: ``CacheError/Code/conflict``, also where others have changed only something else at the same time; as
    ///   ``exchange(_:for:if:)``.
    func restore(
        _ entry: Entry<Value>,
        for key: Key,
        after mark: ChangeMark,
        _ account: InvalidationAccount
    ) async throws {
        guard let found = try await current(key), found.entry == nil, let mark = mark.carried(to: found.mark, account)
        else {
            throw CacheError.conflict
        }
        _ = try await exchange(entry.written(anew: mark), for: key, if: mark)
    }
}

extension Entry {
    /// The same value as a write of its own.
    fileprivate func written(anew mark: ChangeMark) -> Entry {
        Entry(
            content,
            freshUntil: freshUntil,
            staleUntil: staleUntil,
            refreshAt: refreshAt,
            revalidateUntil: revalidateUntil,
            storedAt: storedAt,
            version: .random(),
            tags: tags,
            fetchDuration: fetchDuration,
            asOf: mark.asOf
        )
    }
}

/// What a level has of a key at one moment.
public struct CurrentEntry<Value: Sendable>: Sendable {
    /// The entry; `nil` when there is none, or none that is still of use.
    public var entry: Entry<Value>?
    /// The mark by which the level knows whether the key has changed since.
    public var mark: ChangeMark

    /// What a level has.
    public init(_ entry: Entry<Value>?, mark: ChangeMark) {
        self.entry = entry
        self.mark = mark
    }
}

/// The mark by which a level knows whether a key has changed since it was read.
public struct ChangeMark: Sendable {
    /// What tells this write of the key from every other; `nil` when nothing was there.
    public let stamp: [UInt8]?
    /// When the key was read: no later than what was found.
    package let takenAt: MonotonicInstant
    /// Whether the entry was of use.
    package var isLive = false
    /// The tags of the entry.
    package var tags: [String] = []
    /// The shared level's invalidation number from before the key was read.
    package var asOf: UInt64 = 0
    /// What compositions have noted, the innermost first.
    package var notes: [ChangeNote] = []
    /// Gives the ticket with which a level above a source keeps the new entry.
    package var renewal: (@Sendable () -> Ticket?)?

    /// A mark.
    ///
    /// - Parameters:
    ///   - stamp: What tells this write of the key from every other; `nil` when nothing was there.
    ///   - takenAt: An instant before the key was read.
    public init(stamp: [UInt8]?, takenAt: MonotonicInstant) {
        self.stamp = stamp
        self.takenAt = takenAt
    }

    /// The ticket with which the new entry is kept; ``Ticket/none`` where levels around this one have none.
    ///
    /// For levels that keep tickets: asked in the step that stores, after the comparison. It voids the tickets of all
    /// reads that began before.
    ///
    /// - Returns: `nil` when the key was voided since it was read: a conflict.
    public func ticket() -> Ticket? { renewal.map { $0() } ?? Ticket.none }

    /// A later mark of the same key, good for as long as this one; `nil` if more than an invalidation of tags by the
    /// caller lies between the two.
    func carried(to later: ChangeMark, _ account: InvalidationAccount) -> ChangeMark? {
        guard notes.count == later.notes.count else { return nil }
        var mark = later
        // Keys that were changed in this process since the first look have voided its tickets.
        mark.renewal = renewal
        for index in notes.indices { mark.notes[index].ticket = notes[index].ticket }
        // A shared level gives each invalidation a number, and leaves what it voids where it is.
        if asOf != 0 { return later.stamp == stamp && account.leads(from: asOf, to: later.asOf) ? mark : nil }
        // A composition counts each twice: before and after its levels are told.
        let counts = zip(notes, later.notes).filter { $0.0.ticket != .none }
        return counts.allSatisfy { $1.tagChanges == $0.tagChanges + 2 } ? mark : nil
    }
}

/// What a composition notes when a key is read in order to be changed.
package struct ChangeNote: Sendable {
    /// The count of tag invalidations at its gate.
    package let tagChanges: UInt64
    /// A ticket of its gate.
    package var ticket: Ticket
    /// Whether the upper level was read, since nothing below keeps entries.
    package let isAbove: Bool
}

extension CacheError {
    /// No level keeps entries that can be compared.
    package static var notUpdatable: CacheError {
        CacheError(code: .notUpdatable, message: "no level of the cache can compare and store")
    }

    /// The key has changed since it was read.
    package static var conflict: CacheError {
        CacheError(code: .conflict, message: "the key has changed since it was read")
    }

    /// Whether the only failure is another caller's change.
    package static func isConflict(_ error: any Error) -> Bool { (error as? CacheError)?.code == .conflict }
}
