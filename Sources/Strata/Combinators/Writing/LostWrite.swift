/// A write that was given up: the cache had it, and the source has not got it.
public struct LostWrite<Key: Sendable, Value: Sendable>: Sendable {
    /// The key.
    public let key: Key
    /// The value; `nil` for a deletion.
    public let value: Value?
    /// Why it was given up: what the source has thrown last, or ``CacheError/Code/timeout`` when it was never asked, or
    /// when a drain has ended the call.
    ///
    /// A source that throws may have written all the same.
    public let error: any Error
    /// How often it was tried.
    public let attempts: Int

    /// A write that was given up.
    init(_ key: Key, _ value: Value?, error: any Error, attempts: Int) {
        self.key = key
        self.value = value
        self.error = error
        self.attempts = attempts
    }
}
