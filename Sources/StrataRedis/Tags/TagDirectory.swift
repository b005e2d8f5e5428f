internal import Strata

/// What the levels of a client know of invalidations, for those that are repeated without a call.
///
/// It keeps no level alive.
final class TagDirectory: Sendable {
    private struct Place: Hashable {
        let keyspace: Keyspace
        let part: KeyspacePart?

        init(_ keyspace: Keyspace, _ part: KeyspacePart?) { (self.keyspace, self.part) = (keyspace, part) }

        init(_ tags: KeyspaceTags) { self.init(tags.keyspace, tags.part) }
    }

    private struct Entry: Sendable {
        weak let tags: KeyspaceTags?
    }

    private let entries = Locked<[Place: [Entry]]>([:])

    /// Notes what a level knows, until it is removed.
    func add(_ tags: KeyspaceTags) {
        entries.withLock { $0[Place(tags), default: []].append(Entry(tags: tags)) }
    }

    func remove(_ tags: KeyspaceTags) {
        entries.withLock { entries in
            let left = entries[Place(tags)]?.filter { $0.tags != nil && $0.tags !== tags } ?? []
            entries[Place(tags)] = left.isEmpty ? nil : left
        }
    }

    /// Voids what the memories above all levels of a keyspace have of a key, but for those above one level, which
    /// knows.
    ///
    /// What one level has changed is told to the others by the link as well, a moment later.
    func void(_ names: KeyNames, in keyspace: Keyspace, because cause: VoidCause, but own: KeyspaceTags) {
        let others = entries.withLock { entries -> [Entry] in
            guard let all = entries[Place(keyspace, names.part)], all.count > 1 else { return [] }
            return all
        }
        for other in others where other.tags !== own { other.tags?.void(names, because: cause) }
    }

    /// Takes a number for an invalidation, and tells all levels of it.
    ///
    /// The question bears the highest number that one of them knows, as an invalidation by a caller does: a server that
    /// knows only lower ones has lost data, and a number from it alone would hide that.
    ///
    /// - Parameters:
    ///   - scope: What is invalidated.
    ///   - keyspace: Where.
    ///   - part: Which part of it.
    ///   - redis: The server.
    ///   - deadline: When there is no more time.
    /// - Throws: ``RedisError``; `CancellationError`.
    func repeatInvalidation(
        _ scope: TagEvent.Scope,
        in keyspace: Keyspace,
        _ part: KeyspacePart?,
        _ redis: RedisClient,
        by deadline: MonotonicInstant
    ) async throws {
        let here = entries.withLock { $0[Place(keyspace, part)] ?? [] }.compactMap(\.tags)
        let known = here.reduce(0) { max($0, $1.highest) }
        let marks = try await redis.advance(.take(scope), in: keyspace, part, known: known, repeatedBy: deadline)
        for tags in here { tags.took(marks, for: scope, known: known) }
    }
}
