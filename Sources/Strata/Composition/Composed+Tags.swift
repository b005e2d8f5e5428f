extension Composed {
    /// Invalidates tags in both levels; both are tried.
    ///
    /// An entry on its way up with one of these tags is returned and not kept.
    ///
    /// - Throws: ``CacheError/Code/invalidTags``; the error of the level that failed; ``CacheError/Code/levelsFailed``
    ///   when both did. What this process has filled the upper level with is void all the same.
    public func invalidate(tags: [String]) async throws {
        try TagLimits.checkLengths(tags)
        let stored = lower.stored(tags: tags)
        // Before: no read sees the old values above any more. After: no level keeps a value that was read until now.
        fillGate.void(tags: stored)
        var errors: [any Error] = []
        do { try await upper.invalidate(tags: stored) } catch { errors.append(error) }
        do { try await lower.invalidate(tags: tags) } catch { errors.append(error) }
        fillGate.void(tags: stored)
        try throwAny(errors)
    }
}

extension Entry {
    /// The entry with its tags as a level knows them: a tag that voids it there voids it above, too.
    func bearing(_ level: some CacheLevel) -> Entry {
        let common = level.commonTags
        let own = level.stored(tags: common.isEmpty ? tags : tags.filter { !common.contains($0) })
        guard !common.isEmpty || own != tags else { return self }
        var entry = self
        entry.tags = common + own
        return entry
    }
}
