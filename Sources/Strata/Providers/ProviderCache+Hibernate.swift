extension ProviderCache {
    /// Writes the records that memory holds to a file, the hottest first, for the next process to
    /// ``restore(from:within:)``.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limits: How much is written, and for how long.
    /// - Returns: What was written, and what was left out.
    /// - Throws: ``HibernationError``, with ``HibernationError/Code/unconfirmable`` for a cache that is not memory over
    ///   Redis; `CancellationError`. See ``Composed/hibernate(to:codec:limits:)``.
    @discardableResult
    public func hibernate(
        to path: String,
        limits: HibernationLimits = HibernationLimits()
    ) async throws -> HibernationReport {
        // As the shared level writes them: records that are protected there are protected here.
        try await hibernating.hibernate(to: path, codec: nil, limits: limits)
    }

    /// Reads back into memory what an earlier process has hibernated, as far as Redis still holds it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: When to stop, whatever is left.
    /// - Returns: What was read back, and what happened to the rest.
    /// - Throws: As ``Composed/restore(from:codec:unconfirmedUpTo:within:reading:)``.
    @discardableResult
    public func restore(from path: String, within limit: Duration = .seconds(10)) async throws -> RestorationReport {
        try await hibernating.restore(
            from: path,
            codec: nil,
            unconfirmedUpTo: nil,
            within: limit,
            reading: { ProviderRecord.Key(keyBytes: $0) }
        )
    }

    private var hibernating: any HibernatingLevel<ProviderRecord.Key, ProviderRecord> {
        get throws {
            let confirming = levels as? any ConfirmingLevel<ProviderRecord.Key, ProviderRecord>
            guard confirming?.confirmation != nil,
                let levels = levels as? any HibernatingLevel<ProviderRecord.Key, ProviderRecord>
            else {
                throw HibernationError(.unconfirmable, "the cache is not memory above a shared level")
            }
            return levels
        }
    }
}
