/// A level with a place where sources are asked, to which a call can bring its own.
///
/// ```swift
/// let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
///     .compose(RedisLevel(redis, keyspace: "products", freshness: .resilient).fetchingPerCall())
///
/// let product = try await products.get(id) { try await database.product(id) }
/// ```
///
/// The place is a ``Source`` or, for a fleet, a `FetchingLevel` at the bottom of the cache. A composition with such a
/// bottom is such a level, and so is a level around it that does not change keys and values. A cache without that place
/// has no `get(_:_:or:)`: there would be neither lease nor flight nor lifetime.
///
/// There, the call's source gets what a source that is bound to the level gets: one fetch a key at a time, in this
/// process and, above Redis, in the fleet; lifetimes, stale windows and early refresh; tags; back-off; traces. The call
/// that leads the fetch asks its own source, and all waiting callers get that source's value or error. So the sources
/// of one key must mean the same.
///
/// A refresh in the background asks the source of the call that noticed that the value was due; it may outlive that
/// call. On a level without a source of its own (`perCall`), a read without one starts no refresh, and finds what
/// levels hold, as with ``ReadOptions/cached``.
///
/// A level of your own around such a level conforms too, if it passes the ``ReadRequest`` on unchanged. For a source of
/// several keys to be asked once, it hands on `entries(for:_:)`, too.
public protocol SourcedLevel<Key, Value>: CacheLevel {}

extension SourcedLevel {
    /// The value of a key, from the call's own source where no level has one.
    ///
    /// ```swift
    /// let product = try await products.get(id) { try await database.product(id) }
    /// let current = try await products.get(id, .fresh) { try await database.product(id) }
    /// ```
    ///
    /// A hit in memory does not suspend, and makes no closure. The source may be asked after this call has ended; it is
    /// cancelled when no caller waits any more, within the limits of ``FreshnessPolicy``.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - options: How the read differs from an ordinary one.
    ///   - fetch: Returns the value. Its errors reach all who wait for it.
    /// - Returns: The value.
    /// - Throws: The error of the source that was asked; ``CacheError/Code/miss`` when another call has found that
    ///   there is no value, or the options forbid to ask; ``CacheError/Code/timeout``; `CancellationError`.
    @inlinable
    public func get(
        _ key: Key,
        _ options: ReadOptions? = nil,
        or fetch: @autoclosure @Sendable () -> @Sendable () async throws -> Value
    ) async throws -> Value {
        var answers = ConditionAnswers()
        if options == nil, let resident = resident(key, at: .coarse, &answers) { return resident.value }
        guard let value = try await value(of: key, options, answers, CallSource(required: fetch())) else {
            throw CacheError.missing
        }
        return value
    }

    /// The value of a key, from the call's own source where no level has one; `nil` when there is none.
    ///
    /// As the form whose source always has a value. An absence is remembered for ``FreshnessPolicy/absentFor``.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - options: How the read differs from an ordinary one.
    ///   - fetch: Returns the value, or `nil` when there is none. Its errors reach all who wait for it.
    /// - Returns: The value; `nil` when there is none.
    /// - Throws: The error of the source that was asked; ``CacheError/Code/timeout``; `CancellationError`.
    // A closure that always has a value fits this overload, too.
    @_disfavoredOverload
    @inlinable
    public func get(
        _ key: Key,
        _ options: ReadOptions? = nil,
        or fetch: @autoclosure @Sendable () -> @Sendable () async throws -> Value?
    ) async throws -> Value? {
        var answers = ConditionAnswers()
        if options == nil, let resident = resident(key, at: .coarse, &answers) { return resident.value }
        return try await value(of: key, options, answers, CallSource(fetch()))
    }

    /// The value of a key, from the call's own source where no level has one; the source tells how levels keep its
    /// answer.
    ///
    /// ```swift
    /// let product = try await products.get(id) { context in
    ///     let row = try await database.product(id, unlessVersion: context.old?.version)
    ///     guard let row else { return .absent(tags: ["product:\(id)"]) }
    ///     return row.isUnchanged ? .notModified() : .value(row.product, tags: ["category:\(row.category)"])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - options: How the read differs from an ordinary one.
    ///   - fetch: Fetches the key; gets the old value, if there is one. Its errors reach all who wait for it.
    /// - Returns: The value; `nil` when there is none.
    /// - Throws: The error of the source that was asked; ``CacheError/Code/timeout``; `CancellationError`.
    @inlinable
    public func get(
        _ key: Key,
        _ options: ReadOptions? = nil,
        or fetch: @autoclosure @Sendable () -> @Sendable (FetchContext<Value>) async throws -> FetchOutcome<Value>
    ) async throws -> Value? {
        var answers = ConditionAnswers()
        if options == nil, let resident = resident(key, at: .coarse, &answers) { return resident.value }
        return try await value(of: key, options, answers, CallSource(outcome: fetch()))
    }

    /// The value of a key, from the call's own source where no level has one, with an account of where it was found and
    /// how long each step took.
    ///
    /// - Throws: As `get(_:_:or:)`.
    public func getWithTrace(
        _ key: Key,
        _ options: ReadOptions = .ordinary,
        or fetch: @escaping @Sendable () async throws -> Value?
    ) async throws -> (value: Value?, trace: ReadTrace) {
        var request = ReadRequest(options: options)
        request.callSource = CallSource(fetch)
        return try await traced(key, request)
    }

    @usableFromInline
    func value(
        of key: Key,
        _ options: ReadOptions?,
        _ answers: ConditionAnswers,
        _ source: CallSource<Value>
    ) async throws -> Value? {
        var request = ReadRequest(options: options ?? .ordinary)
        request.answers = answers
        request.callSource = source
        return try await permitted(key, request)?.value
    }
}
