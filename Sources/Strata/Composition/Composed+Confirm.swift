// The level whose gate voids what stands above the composition has to confirm it: its tickets are those that are honoured there.
extension Composed: ConfirmingLevel {
    private var confirming: (any ConfirmingLevel<Lower.Key, Lower.Value>)? {
        switch hearing {
        case .lower: lower as? any ConfirmingLevel<Lower.Key, Lower.Value>
        case .upper: upper as? any ConfirmingLevel<Lower.Key, Lower.Value>
        case .neither, .both: nil
        }
    }

    package var confirmation: ConfirmationPlace<Lower.Key, Lower.Value>? { confirming?.confirmation }

    package func readyToConfirm(within limit: Duration) async throws {
        try await confirming?.readyToConfirm(within: limit)
    }

    package func confirm(_ held: [HeldEntry<Lower.Key>]) async throws -> [EntryConfirmation] {
        try await confirming?.confirm(held) ?? held.map { _ in .unknown }
    }
}
