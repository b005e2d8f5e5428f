/// The source that a call brings with it.
///
/// A read carries it down (``ReadRequest/callSource``) to the level that runs fetches. There it takes the place of that
/// level's own source, and shares everything else with it: the flight, the lease, the policy, the trace.
@usableFromInline
package final class CallSource<Value: Sendable>: Sendable {
    /// Asks for the value of the call's key.
    package let fetch: @Sendable (FetchContext<Value>) async throws -> FetchOutcome<Value>
    /// Whether it is asked even if another fetch has just succeeded or failed.
    ///
    /// The pause after a failure does not hold for it, and a value that was stored since the read began does not stand
    /// in for its own.
    package let insists: Bool

    /// - Parameters:
    ///   - insists: Whether it is asked even if another fetch has just succeeded or failed.
    ///   - fetch: Asks for the value of the call's key.
    @usableFromInline
    package init(
        insists: Bool = false,
        outcome fetch: @escaping @Sendable (FetchContext<Value>) async throws -> FetchOutcome<Value>
    ) {
        self.insists = insists
        self.fetch = fetch
    }

    /// - Parameter fetch: Returns the value of the call's key; `nil` is an absence.
    @usableFromInline
    package convenience init(_ fetch: @escaping @Sendable () async throws -> Value?) {
        self.init(outcome: { _ in .found(try await fetch()) })
    }
}

extension CallSource: AnyCallSource {
    /// This source: it is that of one key.
    package func asking(for key: some Hashable & Sendable) -> any AnyCallSource { self }

    /// This source: it does not name its key.
    package func renaming<Key: Hashable & Sendable>(
        _ keys: [Key],
        to names: [some Hashable & Sendable]
    ) -> any AnyCallSource { self }
}

extension CallSource {
    @usableFromInline
    convenience init(required fetch: @escaping @Sendable () async throws -> Value) {
        self.init(outcome: { _ in .value(try await fetch()) })
    }
}

extension ReadRequest {
    /// The source that the call has brought, for one of its keys, if it gives values of this type.
    package func callSource<Key: Hashable & Sendable, Value: Sendable>(
        of type: Value.Type,
        for key: Key
    ) -> CallSource<Value>? {
        guard let callSource else { return nil }
        return callSource as? CallSource<Value> ?? (callSource as? CallBatch<Key, Value>)?.source(of: key)
    }

    /// The source that the call has brought for several keys, if these are the types of its keys and values.
    package func callBatch<Key: Hashable & Sendable, Value: Sendable>(
        of key: Key.Type,
        _ value: Value.Type
    ) -> CallBatch<Key, Value>? {
        callSource.flatMap { $0 as? CallBatch<Key, Value> }
    }

    /// Whether the call has brought a source that insists on being asked.
    package func insists<Value: Sendable>(on type: Value.Type) -> Bool {
        callSource.flatMap { $0 as? CallSource<Value> }?.insists == true
    }
}
