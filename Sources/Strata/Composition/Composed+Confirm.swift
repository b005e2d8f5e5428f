// The level whose gate voids the entries above the composition has to confirm them: the levels above honour its
// tickets.
extension Composed: ConfirmationRelay {
    package var confirming: (any ConfirmingLevel<Lower.Key, Lower.Value>)? {
        switch hearing {
        case .lower: lower as? any ConfirmingLevel<Lower.Key, Lower.Value>
        case .upper: upper as? any ConfirmingLevel<Lower.Key, Lower.Value>
        case .neither, .both: nil
        }
    }
}
