/// One read of several keys that the flights of these keys share.
///
/// The read runs once, when the first flight asks, and is cancelled when the last flight has left. All get its failure,
/// also those that ask later.
package final class SharedRead<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    private let keys: [Key]
    private let read: @Sendable ([Key]) async throws -> [Output]
    private let flight = Flights<Int, [Key: Output]>(clock: .system)
    private let outcome = Locked<Result<[Key: Output], any Error>?>(nil)

    package init(_ keys: [Key], _ read: @escaping @Sendable ([Key]) async throws -> [Output]) {
        self.keys = keys
        self.read = read
    }

    /// The result of the read for a key; `nil` for a key that is not among those it reads.
    package func output(of key: Key) async throws -> Output? {
        if let known = outcome.withLock({ $0 }) { return try known.get()[key] }
        let all = try await flight.join(0) { [self] _ in
            if let known = outcome.withLock({ $0 }) { return try known.get() }
            do {
                let found = try await read(keys)
                let all = Dictionary(zip(keys, found)) { first, _ in first }
                outcome.withLock { $0 = .success(all) }
                return all
            } catch {
                // A cancelled read is no failure: all flights have left.
                if !Task.isCancelled { outcome.withLock { $0 = .failure(error) } }
                throw error
            }
        }
        return all.output[key]
    }
}
