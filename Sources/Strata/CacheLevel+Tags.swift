extension CacheLevel {
    /// Sets a value in this level and those below it, with tags by which it can be invalidated.
    ///
    /// ```swift
    /// try await articles.set(article, for: 7, tags: ["author:ann", "topic:swift"])
    /// try await articles.invalidate(tag: "author:ann")
    /// ```
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its key.
    ///   - tags: Any texts; see ``TagLimits``.
    /// - Throws: ``CacheError/Code/invalidTags`` before anything is written; else as ``set(_:for:)``.
    public func set(_ value: Value, for key: Key, tags: [String]) async throws {
        try TagLimits.check(tags)
        _ = try await commit(Entry(.value(value), tags: tags), for: key)
    }

    /// Invalidates every entry that bears a tag, in this level and those below it.
    ///
    /// - Throws: As `invalidate(tags:)`.
    public func invalidate(tag: String) async throws {
        try await invalidate(tags: [tag])
    }

    /// Empties the level.
    ///
    /// A level that keeps no tags cannot tell which entries bear them, so it drops all.
    public func invalidate(tags: [String]) async throws {
        try TagLimits.checkLengths(tags)
        guard !tags.isEmpty else { return }
        try await removeAll()
    }
}
