/// What a source has to say of a key.
///
/// ```swift
/// let level = RedisLevel<Int, Product>(redis, keyspace: "products").fetching { id, context in
///     let row = try await database.product(id, unlessVersion: context.old?.version)
///     guard let row else { return .absent(tags: ["product-\(id)"]) }
///     return row.isUnchanged ? .notModified() : .value(row.product, tags: ["category-\(row.category)"])
/// }
/// ```
public enum FetchOutcome<Value: Sendable>: Sendable {
    /// The value, with its lifetime and the tags by which it can be invalidated together with others.
    case value(Value, lifetime: EntryLifetime = .byPolicy, tags: [String] = [])
    /// The key has no value; that is remembered for its own time, and forgotten when one of the tags is invalidated.
    ///
    /// What makes the value come into being has to invalidate one of them, or remove the key.
    case absent(lifetime: EntryLifetime = .byPolicy, tags: [String] = [])
    /// The old value still holds: it is fresh again under its old tags, and its bytes stay where they are.
    ///
    /// An error where there is no old value; see ``FetchContext/old``.
    case notModified(lifetime: EntryLifetime = .byPolicy)
    /// An answer for those who wait, to be kept by no level; `nil` for none.
    case doNotStore(Value?)
    /// The source cannot tell, and is not to be asked again before that time.
    ///
    /// As good as throwing the error; `nil` leaves the time to the policy. That time spares the source, so no
    /// invalidation of a tag ends it; removing the key does.
    case failure(any Error, retryAfter: Duration? = nil)

    /// A value, or an absence for `nil`; the tags are those of either.
    public static func found(_ value: Value?, tags: [String] = []) -> FetchOutcome {
        value.map { .value($0, tags: tags) } ?? .absent(tags: tags)
    }
}
