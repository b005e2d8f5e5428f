internal import Strata

/// All that decides what a read of a key does, as Redis has it.
package struct KeyExplanation: Sendable {
    /// The numbers that stand for a whole keyspace.
    package struct Marks: Sendable, Hashable {
        /// The last number that was given out.
        package let sequence: UInt64
        /// The number of the last clear, or of the moment when the numbers began.
        package let clear: UInt64
    }

    /// A tag of the entry.
    package struct Tag: Sendable, Hashable {
        package let tag: String
        /// The number of its last invalidation; 0 for none that is known.
        package let number: UInt64
        /// Whether that is later than the entry's fetch.
        package let isVoiding: Bool
    }

    package let key: InspectedKey
    /// What is stored; `nil` for nothing.
    package let entry: EntryInspection?
    /// The lease, or the failure of the last fetch; `nil` for neither.
    package let lease: LeaseInspection?
    /// `nil` when they are lost or make no sense, or when no instance has used the keyspace yet.
    package let marks: Marks?
    /// The tags of the entry.
    package let tags: [Tag]
    /// Milliseconds of the server's clock since 1970, at about the moment of the look.
    package let serverTime: Int64

    /// The moment that a number stands for, in milliseconds since 1970.
    ///
    /// A number is the server's time in microseconds where that is above the number before it.
    package static func moment(of number: UInt64) -> Int64 {
        Int64(clamping: number / 1_000)
    }
}

extension KeyspaceInspector {
    /// What decides about a read of a key.
    ///
    /// Four round trips. Nothing is changed, so what lies there may be another thing by the time of the next read.
    package func explanation(of key: InspectedKey) async throws -> KeyExplanation {
        let ((lease, time), (entry, numbers)) = try await concurrently {
            try await concurrently {
                try await self.lease(of: key)
            } and: {
                try await self.time(at: key)
            }
        } and: {
            try await entryAndNumbers(of: key)
        }
        let void: Set<String> = if case .tags(let tags) = entry?.invalidation { Set(tags) } else { [] }
        let tags = entry?.content.tags ?? []
        return KeyExplanation(
            key: key,
            entry: entry,
            lease: lease,
            marks: numbers.marks.map { KeyExplanation.Marks(sequence: $0.sequence, clear: $0.clear) },
            tags: tags.map {
                KeyExplanation.Tag(
                    tag: $0,
                    number: numbers.numbers[TagName($0)] ?? 0,
                    isVoiding: void.contains($0)
                )
            },
            serverTime: entry?.serverTime ?? time
        )
    }

    private func entryAndNumbers(of key: InspectedKey) async throws -> (EntryInspection?, RedisClient.TagNumbers) {
        if let found = try await judgedEntry(of: key) { return (found.entry, found.numbers) }
        return (nil, try await redis.tagNumbers(of: [], in: keyspace, part(of: key)))
    }
}
