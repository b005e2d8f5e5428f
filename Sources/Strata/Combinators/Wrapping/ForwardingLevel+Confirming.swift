// What a level inside can confirm holds for the one around it, which has the same keys and values.
extension ConfirmingLevel where Self: ForwardingLevel {
    private var inner: (any ConfirmingLevel<Key, Value>)? { base as? any ConfirmingLevel<Key, Value> }

    package var confirmation: ConfirmationPlace<Key, Value>? { inner?.confirmation }

    package func readyToConfirm(within limit: Duration) async throws {
        try await inner?.readyToConfirm(within: limit)
    }

    package func confirm(_ held: [HeldEntry<Key>]) async throws -> [EntryConfirmation] {
        try await inner?.confirm(held) ?? held.map { _ in .unknown }
    }
}
