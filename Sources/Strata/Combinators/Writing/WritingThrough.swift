/// A level that writes to the source of truth first, and then caches what it has written.
///
/// ```swift
/// let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
///     .compose(RedisLevel(redis, keyspace: "products").fetching { id in try await database.product(id) })
///     .writing { id, product in
///         if let product { try await database.save(product, as: id) } else { try await database.delete(id) }
///     }
///
/// try await products.set(product, for: 42)  // the database, then the cache
/// try await products.delete(42)
/// ```
///
/// Each `set` notes what the cache has of the key, writes the source, and then caches the value only if the key is
/// still as it was noted. Otherwise it removes the key, and the next read asks the source. So when two writers overlap,
/// in this process or in others, neither leaves a value in the cache that the other has replaced in the source.
///
/// Reads are those of the level inside. Forgetting does not delete: ``remove(_:)``, ``removeAll()`` and tags concern
/// the cache only, since reads and lifetimes remove keys, too; ``delete(_:)`` deletes in the source.
///
/// It cannot be updated: the cache compares before the source is written, and two updates that both pass would both
/// write there. Change the value in a transaction of the source, and remove the key.
///
/// Put it around the whole cache, or, above Redis, below memory: without Redis, memory would not hear of values that
/// are deleted or given up. A level below it fills the level inside without a write.
public struct WritingThrough<Base: AtomicLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level that caches.
    public let base: Base
    private let write: @Sendable (Key, Value?) async throws -> Void
    let turns = KeyTurns<Base.Key>()
    private let written = Tally()
    private let failures = Tally()
    private let uncached = Tally()

    init(_ base: Base, _ write: @escaping @Sendable (Key, Value?) async throws -> Void) {
        self.base = base
        self.write = write
    }

    // MARK: Reading

    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await base.entry(for: key, request)
    }

    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await base.entries(for: keys, request)
    }

    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        try await base.join(key, if: isSought)
    }

    public func lacks(_ key: Key, isRead: Bool) -> Bool { base.lacks(key, isRead: isRead) }

    // MARK: Writing

    /// True.
    public var writesSource: Bool { true }

    /// Writes the source, then the cache.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Writes the source, then the cache.
    ///
    /// An entry that a read has found below, and a remembered absence, are cached and not written.
    ///
    /// - Throws: What the source throws, and then the key is removed, because it may have been written nevertheless;
    ///   ``CacheError/Code/notForgotten``; `CancellationError`.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        guard let value = entry.value, entry.rights == nil, !entry.isFill else {
            return try await base.commit(entry, for: key)
        }
        try refuseInside(key)
        return try await turns.exclusively(key) {
            let place = try await place(of: key)
            try await write(value, key)
            do {
                return try await put(entry, for: key, at: place)
            } catch {
                uncached.add()
                try await forget(key)
                return .void
            }
        }
    }

    /// Forgets a key in the cache.
    ///
    /// The source keeps it; see ``delete(_:)``. A `set` with a lifetime of zero arrives here, too: its value is written
    /// to the source, and not cached.
    ///
    /// - Throws: As ``commit(_:for:)`` for such a `set`, and ``CacheError/Code/notUpdatable`` where a level of your own
    ///   transforms values on the way; else what the level inside throws.
    public func remove(_ key: Key) async throws {
        guard let value = UncachedWrite.value else { return try await base.remove(key) }
        guard let value = value as? Value else { throw CacheError.uncachedTransformed }
        try await write(value, thenForget: key)
    }

    /// Deletes a key in the source, and then forgets it.
    ///
    /// - Throws: As ``commit(_:for:)``.
    public func delete(_ key: Key) async throws { try await write(nil, thenForget: key) }

    private func write(_ value: Value?, thenForget key: Key) async throws {
        try refuseInside(key)
        try await turns.exclusively(key) {
            try await write(value, key)
            try await forget(key)
        }
    }

    /// A write of the same key by the closure would wait for its own turn.
    private func refuseInside(_ key: Key) throws {
        guard WriteUnderWay.isInside(ObjectIdentifier(turns), key) else { return }
        throw CacheError(
            code: .writesItself,
            message: "the closure that writes a key to the source has set or deleted that key in the same cache"
        )
    }

    /// Writes the source; when that fails, forgets the key.
    private func write(_ value: Value?, _ key: Key) async throws {
        let underWay = WriteUnderWay(ObjectIdentifier(turns), key)
        defer { underWay.end() }
        do {
            try await WriteUnderWay<Key>
                .run(underWay) {
                    // The source may be a cache itself.
                    try await UncachedWrite.$value.withValue(nil) { try await write(key, value) }
                }
            written.add()
        } catch {
            failures.add()
            // Written or not: only the source knows.
            try? await forget(key)
            throw error
        }
    }

    /// Forgets a key, also for a caller that is cancelled; while a server is away, as soon as it is back.
    private func forget(_ key: Key) async throws {
        do {
            _ = try await UncachedWrite.$value.withValue(nil) {
                try await Task { [base] in try await base.remove(key, .deferred) }.value
            }
        } catch {
            throw CacheError.notForgotten(error)
        }
    }

    // MARK: Caching what was written

    /// Where a value that is about to be written can be cached.
    private enum Place {
        /// In the place of what is there.
        case exchange(ChangeMark)
        /// Where there is nothing, by these rights: a mark cannot tell a key that was set and removed meanwhile from
        /// one that was not.
        case fill(FillRights)
        /// Nowhere: there is no way to tell whether the key has changed.
        case none
    }

    /// Notes what the cache has of a key.
    ///
    /// - Throws: `CancellationError`. A cache that cannot be read is no reason not to write the source.
    private func place(of key: Key) async throws -> Place {
        let found: CurrentEntry<Value>?
        do { found = try await base.current(key) } catch { found = nil }
        try Task.checkCancellation()
        guard let found else { return .none }
        guard base.gate != nil, found.mark.stamp == nil else { return .exchange(found.mark) }
        let rights = await base.rights(toFill: [key])
        try Task.checkCancellation()
        return .fill(rights)
    }

    /// Caches what was written.
    ///
    /// - Throws: ``CacheError/Code/conflict`` when the key has changed since it was noted; what the level throws.
    private func put(_ entry: Entry<Value>, for key: Key, at place: Place) async throws -> Ticket? {
        switch place {
        case .none: throw CacheError.conflict
        case .exchange(let mark):
            var entry = entry
            if entry.freshUntil == .distantFuture, let policy {
                entry = policy.stamping(entry, fingerprint: fingerprint(of: key), at: (clock ?? .system).now)
            }
            if entry.version == .none { entry.version = .random() }
            entry.asOf = mark.asOf
            return try await base.exchange(entry, for: key, if: mark)
        case .fill(let rights):
            var entry = entry
            entry.rights = rights
            let ticket = try await base.commit(entry, for: key)
            guard rights.refusal == nil else { throw CacheError.conflict }
            return ticket
        }
    }

    public var label: LevelLabel {
        LevelLabel(
            "writing through",
            counters: [
                .init("written", written.count), .init("failed_writes", failures.count),
                .init("uncached_writes", uncached.count),
            ],
            parts: [base.label]
        )
    }
}

extension WritingThrough: SourcedLevel where Base: SourcedLevel {}

extension WritingThrough: ConfirmationRelay {}

extension AtomicLevel {
    /// This level, writing to the source of truth before it caches.
    ///
    /// Writers of a key take turns in this process, in the order of their calls; a turn lasts as long as the write.
    /// Only the closure limits it. A closure that sets or deletes the key that it writes gets
    /// ``CacheError/Code/writesItself``.
    ///
    /// Two round trips to Redis around each write of the source; one more for a conflict.
    ///
    /// - Parameter write: Writes a value to the source, or deletes the key when the value is `nil`. What it throws
    ///   reaches the caller as it is.
    /// - Returns: The level that writes.
    public func writing(
        through write: @escaping @Sendable (_ key: Key, _ value: Value?) async throws -> Void
    ) -> WritingThrough<Self> { WritingThrough(self, write) }
}

extension CacheError {
    /// A lifetime of zero came as a removal, and its value has another type here.
    static var uncachedTransformed: CacheError {
        CacheError(
            code: .notUpdatable,
            message: "a value that is not to be cached cannot be written through a transformation"
        )
    }

    /// The source is written, and the cache could not be told.
    static func notForgotten(_ error: any Error) -> CacheError {
        CacheError(
            code: .notForgotten,
            message: "the source was changed, but a level could not forget the old value",
            causes: [error]
        )
    }
}
