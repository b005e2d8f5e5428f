/// The answer of a source for a key.
///
/// ```swift
/// let level = RedisLevel<Int, Product>(redis, keyspace: "products")
///     .fetching { id, context in
///         let row = try await database.product(id, unlessVersion: context.old?.version)
///         guard let row else { return .absent(tags: ["product:\(id)"]) }
///         return row.isUnchanged ? .notModified() : .value(row.product, tags: ["category:\(row.category)"])
///     }
/// ```
public enum FetchOutcome<Value: Sendable>: Sendable {
    /// The value, with its lifetime and the tags by which it can be invalidated.
    case value(Value, lifetime: EntryLifetime = .byPolicy, tags: [String] = [])
    /// The key has no value. The cache remembers that for a time of its own, and forgets it when one of the tags is
    /// invalidated.
    ///
    /// Code that creates the value later must invalidate one of the tags, or remove the key.
    case absent(lifetime: EntryLifetime = .byPolicy, tags: [String] = [])
    /// The old value still holds: it is fresh again, with its old tags, and its bytes stay where they are.
    ///
    /// Without an old value this is an error; see ``FetchContext/old``.
    case notModified(lifetime: EntryLifetime = .byPolicy)
    /// An answer for the waiting callers, which no level keeps; `nil` for none.
    case doNotStore(Value?)
    /// The source failed, and must not be asked again before that time.
    ///
    /// The same as throwing the error; `nil` leaves the time to the policy. The time protects the source, so the
    /// invalidation of a tag does not end it; removing the key does.
    case failure(any Error, retryAfter: Duration? = nil)

    /// The same outcome with its value in another form.
    func map<Other>(_ transform: (Value) async throws -> Other) async throws -> FetchOutcome<Other> {
        switch self {
        case .value(let value, let lifetime, let tags):
            .value(try await transform(value), lifetime: lifetime, tags: tags)
        case .absent(let lifetime, let tags): .absent(lifetime: lifetime, tags: tags)
        case .notModified(let lifetime): .notModified(lifetime: lifetime)
        case .doNotStore(nil): .doNotStore(nil)
        case .doNotStore(let value?): .doNotStore(try await transform(value))
        case .failure(let error, let retryAfter): .failure(error, retryAfter: retryAfter)
        }
    }

    /// A value, or an absence for `nil`, with its tags.
    public static func found(_ value: Value?, tags: [String] = []) -> FetchOutcome {
        value.map { .value($0, tags: tags) } ?? .absent(tags: tags)
    }
}
