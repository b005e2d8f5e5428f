extension InstanceLog {
    // MARK: Writes

    /// Writes a key at the source.
    ///
    /// Invalidate it afterwards, or do both with ``change(_:in:_:)``.
    ///
    /// - Parameters:
    ///   - key: One of the run's keys.
    ///   - source: The source.
    /// - Throws: ``CheckerError`` with `unknownKey`.
    /// - Returns: The version written.
    @discardableResult
    public func write(_ key: Int, to source: VersionedSource) throws(CheckerError) -> UInt64 {
        let write = begin(.write, key)
        do {
            let version = try source.write(key, by: number)
            write.end(version: version)
            return version
        } catch {
            write.fail()
            throw error
        }
    }

    /// Writes a key at the source, then has it invalidated: a change as a service makes it.
    ///
    /// - Parameters:
    ///   - key: One of the run's keys.
    ///   - source: The source.
    ///   - invalidate: The invalidation; when it returns, readers are obliged to see the new version.
    /// - Throws: What `invalidate` throws, after the failure is recorded; ``CheckerError`` with `unknownKey`.
    /// - Returns: The version written.
    @discardableResult
    public func change(
        _ key: Int,
        in source: VersionedSource,
        _ invalidate: () async throws -> Void
    ) async throws -> UInt64 {
        let version = try write(key, to: source)
        try await self.invalidate(.key(key), of: version, invalidate)
        return version
    }

    // MARK: Invalidations

    /// Invalidates and records it.
    ///
    /// - Parameters:
    ///   - scope: What is invalidated.
    ///   - version: For a key, a version known to be written before; 0 if unknown. The check adds by itself what all
    ///     instances had written by then.
    ///   - body: The invalidation.
    /// - Throws: What `body` throws, after the failure is recorded: a failed invalidation requires nothing.
    /// - Returns: What `body` returns.
    public func invalidate<Result>(
        _ scope: InvalidationScope,
        of version: UInt64 = 0,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let invalidation = beginInvalidation(scope, of: version)
        do {
            let result = try await body()
            invalidation.end()
            return result
        } catch {
            invalidation.fail()
            throw error
        }
    }

    /// Puts a value into the cache and records it: when it returns, readers are obliged to see that version or a newer
    /// one.
    ///
    /// Unlike an invalidation, it says nothing about what others wrote meanwhile. A set of an old value after a newer
    /// one's invalidation is a fault of the caller that the check reports as the cache's: write and set from one place.
    ///
    /// - Parameters:
    ///   - value: The value that is set.
    ///   - body: The set.
    /// - Throws: What `body` throws, after the failure is recorded: a failed set requires nothing.
    /// - Returns: What `body` returns.
    public func set<Result>(_ value: VersionedValue, _ body: () async throws -> Result) async rethrows -> Result {
        let set = begin(.set, value.key, version: value.version)
        do {
            let result = try await body()
            set.end()
            return result
        } catch {
            set.fail()
            throw error
        }
    }

    /// Marks the beginning of an invalidation; its end is marked by ``OngoingEvent/end()`` or ``OngoingEvent/fail()``.
    ///
    /// - Parameters:
    ///   - scope: What is invalidated.
    ///   - version: For a key, a version known to be written before; 0 if unknown.
    /// - Returns: The invalidation under way.
    public func beginInvalidation(_ scope: InvalidationScope, of version: UInt64 = 0) -> OngoingEvent {
        switch scope {
        case .key(let key): begin(.invalidateKey, key, version: version)
        case .tag(let tag): begin(.invalidateTag, tag, version: 0)
        case .all: begin(.invalidateAll, 0, version: 0)
        }
    }

    // MARK: Fetches

    /// Fetches from the source and records it, for the rule of one fetch: the fetcher of the cache under test.
    ///
    /// - Parameters:
    ///   - key: One of the run's keys.
    ///   - source: The source.
    /// - Throws: What the source's hook throws, after the failure is recorded; ``CheckerError`` with `unknownKey`.
    /// - Returns: The value; nil if the source has none.
    public func fetch(_ key: Int, from source: VersionedSource) async throws -> VersionedValue? {
        let fetch = begin(.fetch, key)
        do {
            let value = try await source.fetch(key)
            fetch.end(version: value?.version ?? 0)
            return value
        } catch {
            fetch.fail()
            throw error
        }
    }

    /// Marks the beginning of a fetch; its end is marked by ``OngoingEvent/end(version:)`` or ``OngoingEvent/fail()``.
    ///
    /// For a source that is asked for several keys by one call: the fetch of each lasts until the call returns.
    ///
    /// - Parameter key: One of the run's keys.
    /// - Returns: The fetch under way.
    public func beginFetch(_ key: Int) -> OngoingEvent { begin(.fetch, key) }

    private func begin(_ kind: HistoryEvent.Kind, _ key: Int, version: UInt64 = 0) -> OngoingEvent {
        let isKey = kind != .invalidateTag
        guard let number = UInt32(exactly: key), !isKey || key < recorder.run.keyCount else {
            recorder.spool.drop()
            return OngoingEvent(spool: recorder.spool, place: .nowhere, version: version)
        }
        return recorder.begin(kind, version: version, instance: self.number, key: number)
    }
}
