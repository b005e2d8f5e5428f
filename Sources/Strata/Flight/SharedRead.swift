/// One read of several keys on which each key's flight draws.
///
/// The read runs once, when the first flight asks, and is cancelled when the last flight has left.
package final class SharedRead<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    private let keys: [Key]
    private let read: @Sendable ([Key]) async throws -> [Output]
    private let flight = Flights<Int, [Key: Output]>()
    private let outputs = Locked<[Key: Output]?>(nil)

    package init(_ keys: [Key], _ read: @escaping @Sendable ([Key]) async throws -> [Output]) {
        self.keys = keys
        self.read = read
    }

    /// What the read has for a key; `nil` when the key is not one of those that it asks for.
    package func output(of key: Key) async throws -> Output? {
        if let known = outputs.withLock({ $0 }) { return known[key] }
        let all = try await flight.join(0) { [self] _ in
            if let known = outputs.withLock({ $0 }) { return known }
            let found = try await read(keys)
            let all = Dictionary(zip(keys, found)) { first, _ in first }
            outputs.withLock { $0 = all }
            return all
        }
        return all.output[key]
    }
}
