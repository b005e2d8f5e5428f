/// The keys of a keyspace that have a value, or a lease, in the batches in which SCAN finds them; each comes once.
///
/// One round trip a batch, and batches may be empty. What is written or removed while the scan runs may be missed or
/// found.
package struct KeyListing: AsyncSequence {
    package typealias Element = [InspectedKey]

    let batches: RedisKeyBatches
    let keyspace: Keyspace
    let pattern: GlobPattern?

    /// A listing of the values, or of the leases.
    ///
    /// A pattern's literal beginning is encoded and matched by the server; the rest is matched here, on the user's own
    /// key.
    init(_ redis: RedisClient, _ keyspace: Keyspace, under names: [UInt8], matching pattern: GlobPattern?) {
        var prefix = names
        if let pattern {
            prefix.append(UInt8(ascii: "{"))
            Keyspace.append(userKey: pattern.literalPrefix, to: &prefix)
        }
        batches = RedisKeyBatches(client: redis, prefix: prefix)
        self.keyspace = keyspace
        self.pattern = pattern
    }

    package func makeAsyncIterator() -> Iterator { Iterator(base: batches.makeAsyncIterator(), listing: self) }

    package struct Iterator: AsyncIteratorProtocol {
        var base: RedisKeyBatches.Iterator
        let listing: KeyListing
        private var seen = SeenKeys()

        init(base: RedisKeyBatches.Iterator, listing: KeyListing) {
            self.base = base
            self.listing = listing
        }

        package mutating func next() async throws -> [InspectedKey]? {
            guard let names = try await base.next() else { return nil }
            var keys: [InspectedKey] = []
            for name in names where seen.insert(name) {
                guard let key = InspectedKey(name: name, in: listing.keyspace), listing.includes(key) else { continue }
                keys.append(key)
            }
            return keys
        }
    }

    /// A key that only its hash is known of matches no pattern.
    private func includes(_ key: InspectedKey) -> Bool {
        guard let pattern else { return true }
        return key.userKey.map { pattern.matches($0) } ?? false
    }
}
