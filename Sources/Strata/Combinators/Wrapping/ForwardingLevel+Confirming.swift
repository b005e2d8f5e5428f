extension ConfirmationRelay where Self: ForwardingLevel {
    /// The level inside, which has the same keys and values.
    package var confirming: (any ConfirmingLevel<Key, Value>)? { base as? any ConfirmingLevel<Key, Value> }
}
