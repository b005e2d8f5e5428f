internal import Strata

/// Tells whether a key came before in a scan: SCAN repeats keys while the server's table grows or shrinks.
///
/// Only 64-bit hashes are kept, with a random seed, so keys cannot be chosen to hide each other; by chance it happens
/// once in 37 million scans of a million keys. Beyond ``limit`` keys no more are remembered, and a repeated key then
/// counts as new. O(1) a key, 16 bytes each.
struct SeenKeys: Sendable {
    static let limit = 4 << 20

    private let seed = UInt64.random(in: 0 ... .max)
    private var hashes: Set<UInt64> = []

    /// Whether the key is new; it is remembered.
    mutating func insert(_ key: RedisKey) -> Bool {
        let hash = XXH64.hash(key.bytes, seed: seed)
        guard hashes.count < Self.limit else { return !hashes.contains(hash) }
        return hashes.insert(hash).inserted
    }
}
