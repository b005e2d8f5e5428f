/// What happens to a removal that a level cannot carry out at once, because its server is away.
public enum RemovalMode: Sendable, Hashable {
    /// The call throws.
    case confirmed
    /// The level keeps the removal, the call returns, and the level carries it out when its server is back.
    ///
    /// A level that cannot keep removals throws.
    case deferred
}

/// The outcome of a removal.
public enum RemovalOutcome: Sendable, Hashable {
    /// All levels have carried it out.
    case done
    /// A level carries it out when its server is back.
    case deferred
}

extension CacheLevel {
    /// Forgets a key, now or when the server of a level is back.
    ///
    /// ```swift
    /// if try await products.remove(42, .deferred) == .deferred {
    ///     logger.notice("other instances may serve product 42 until Redis is back")
    /// }
    /// ```
    ///
    /// Deferred, the value is void for this instance at once, in its memory and in Redis. Other instances may serve it
    /// until Redis is back: for as long as their memory is trusted, and from Redis, if they still reach it. Removals
    /// that this process could not carry out are lost when it ends, after a last attempt while the client drains.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - mode: What happens to it while a server is away; overrides the mode that the levels were made with.
    /// - Returns: Whether it was carried out.
    /// - Throws: As `remove(_:)`; with ``RemovalMode/deferred`` no error of an outage, unless the level has no room
    ///   to keep it.
    @discardableResult
    public func remove(_ key: Key, _ mode: RemovalMode) async throws -> RemovalOutcome {
        try await RemovalCall.run(mode) { try await remove(key) }
    }

    /// Forgets every entry that bears one of these tags, now or when the server of a level is back.
    ///
    /// - Parameters:
    ///   - tags: The tags.
    ///   - mode: As for a key.
    /// - Returns: Whether it was carried out.
    /// - Throws: As `invalidate(tags:)` and `remove(_:_:)`.
    @discardableResult
    public func invalidate(tags: [String], _ mode: RemovalMode) async throws -> RemovalOutcome {
        try await RemovalCall.run(mode) { try await invalidate(tags: tags) }
    }

    /// Forgets everything in this level and those below it, now or when the server of a level is back.
    ///
    /// - Parameter mode: As for a key.
    /// - Returns: Whether it was carried out.
    /// - Throws: As ``clear()`` and `remove(_:_:)`.
    @discardableResult
    public func clear(_ mode: RemovalMode) async throws -> RemovalOutcome {
        try await RemovalCall.run(mode) { try await clear() }
    }
}

/// One call that says how it removes, for the levels that it reaches.
package final class RemovalCall: Sendable {
    @TaskLocal package static var current: RemovalCall?

    /// What the call says; `nil` where it leaves that to the levels.
    package let mode: RemovalMode?
    private let isDeferred = Locked(false)

    private init(_ mode: RemovalMode?) { self.mode = mode }

    /// A level carries it out later.
    package func isKept() { isDeferred.withLock { $0 = true } }

    /// Runs the body as a call of its own; without a mode it has that of the call around it.
    package static func run(_ mode: RemovalMode?, _ body: () async throws -> Void) async throws -> RemovalOutcome {
        let call = RemovalCall(mode ?? current?.mode)
        // Also where another part of the call has failed.
        defer { if call.wasDeferred { current?.isKept() } }
        try await $current.withValue(call) { try await body() }
        return call.wasDeferred ? .deferred : .done
    }

    private var wasDeferred: Bool { isDeferred.withLock { $0 } }
}
