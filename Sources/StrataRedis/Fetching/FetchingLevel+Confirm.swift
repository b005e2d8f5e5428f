package import Strata

extension FetchingLevel: ConfirmingLevel {
    /// The Redis level's.
    package var confirmation: ConfirmationPlace<Key, Value>? { level.confirmation }

    package func readyToConfirm(within limit: Duration) async throws { try await level.readyToConfirm(within: limit) }

    /// What the Redis level says.
    package func confirm(_ held: [HeldEntry<Key>]) async throws -> [EntryConfirmation] { try await level.confirm(held) }
}
