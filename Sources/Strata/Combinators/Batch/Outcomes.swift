/// The outcome of one key of a batch; `nil` where it is not known whether the key was missing or has failed.
package typealias KeyOutcome<Value: Sendable> = Result<Entry<Value>?, any Error>?

extension CacheLevel {
    /// The outcomes of several keys that one call asked for.
    ///
    /// A key that fails does not fail the others. An error that the call throws fails all of them.
    package func outcomes(for keys: [Key], _ request: ReadRequest) async throws -> [KeyOutcome<Value>] {
        let notes = FailureNotes()
        let entries = try await entries(for: keys, request.going(on: notes))
        let errors = notes.errors(of: keys)
        return keys.indices.map { index -> KeyOutcome<Value> in
            if let entry = entries[index] { return .success(entry) }
            guard let errors else { return nil }
            if let error = errors[index] { return .failure(error) }
            return .success(nil)
        }
    }
}
