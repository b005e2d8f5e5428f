extension CacheLevel {
    /// The value of a key from the source, in the place of what levels hold; when the source fails, the key is removed.
    ///
    /// For values that must not outlive a failure, such as those of a user who logs out. While the source is asked,
    /// others still get the old value. ``ReadOptions/reload`` leaves the old value where it is.
    ///
    /// - Throws: The error of the read, after the removal; ``CacheError/Code/levelsFailed`` with both errors when the
    ///   removal fails, too; `CancellationError` when the task is cancelled, and then nothing was removed.
    @discardableResult
    public func reloadOrRemove(_ key: Key) async throws -> Value? {
        do {
            return try await get(key, .reload.with(staleness: .never))
        } catch {
            // A source may throw it by itself.
            if error is CancellationError, Task.isCancelled { throw error }
            do { try await remove(key) } catch let removal { throw CacheError.combining([error, removal]) }
            throw error
        }
    }
}
