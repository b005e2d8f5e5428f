/// How many calls for several keys are under way at once: enough to fill the pipeline of a connection.
private let callsAtOnce = 64

extension CacheLevel {
    /// Forgets several keys, each as `remove(_:)` does, now or when the server of a level is back.
    ///
    /// These are single calls, up to 64 of them at the same time: as many commands as keys, which Redis gets in few
    /// round trips. All are tried, also after one has failed.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - mode: What happens to the removals while a server is away; `nil`, the default, for the mode that the levels
    ///     were made with.
    /// - Returns: Whether all were carried out.
    /// - Throws: The error of the first key, in their order, whose removal has failed, as `remove(_:_:)` throws it;
    ///   `CancellationError`, and then some keys may not have been tried.
    @discardableResult
    public func remove(_ keys: [Key], _ mode: RemovalMode? = nil) async throws -> RemovalOutcome {
        try await RemovalCall.run(mode) {
            try await tryEach(of: keys) { key in try await remove(key) }
        }
    }

    /// Sets several values in this level and those below it, each as ``set(_:for:)`` does.
    ///
    /// These are single calls, up to 64 of them at the same time: as many commands as keys, which Redis gets in few
    /// round trips. All are tried, also after one has failed, and what was set stays set.
    ///
    /// - Parameters:
    ///   - values: The values by their keys.
    ///   - lifetime: How long the values are fresh and kept; `nil`, the default, for the lifetime of each level's
    ///     policy. A freshness of zero or less removes the keys.
    ///   - tags: The tags by which each of the values can be invalidated.
    /// - Throws: ``CacheError/Code/invalidTags`` before anything is written; the error of one of the keys that have
    ///   failed; `CancellationError`, and then some keys may not have been tried.
    public func set(_ values: [Key: Value], lifetime: EntryLifetime? = nil, tags: [String] = []) async throws {
        try TagLimits.check(tags)
        try await tryEach(of: Array(values)) { pair in
            if let lifetime {
                try await set(pair.value, for: pair.key, lifetime: lifetime, tags: tags)
            } else {
                try await set(pair.value, for: pair.key, tags: tags)
            }
        }
    }

    /// Runs a call for each element.
    ///
    /// - Throws: The first error in the order of the elements, after all were tried; `CancellationError`.
    private func tryEach<Element: Sendable>(
        of elements: [Element],
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        var first: (any Error)?
        for start in stride(from: 0, to: elements.count, by: callsAtOnce) {
            try Task.checkCancellation()
            let failures = try await elements[start..<min(start + callsAtOnce, elements.count)]
                .concurrently { element -> (any Error)? in
                    do {
                        try await body(element)
                        return nil
                    } catch {
                        return error
                    }
                }
                .compactMap { $0 }
            if first == nil { first = failures.first }
        }
        guard let first else { return }
        try Task.checkCancellation()
        throw first
    }
}
