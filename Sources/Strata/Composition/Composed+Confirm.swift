// The level whose gate voids what stands above the composition has to confirm it: its tickets are those that are honoured there.
extension Composed: ConfirmationRelay {
    package var confirming: (any ConfirmingLevel<Lower.Key, Lower.Value>)? {
        switch hearing {
        case .lower: lower as? any ConfirmingLevel<Lower.Key, Lower.Value>
        case .upper: upper as? any ConfirmingLevel<Lower.Key, Lower.Value>
        case .neither, .both: nil
        }
    }
}
