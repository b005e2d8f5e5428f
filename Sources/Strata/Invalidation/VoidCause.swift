/// What has voided the tickets of a key.
package enum VoidCause: UInt8, Sendable, Hashable {
    /// This process has removed the key.
    case removed = 1
    /// This process has written another value.
    case replaced
    /// Another process has changed the key, or the server has dropped it.
    case changedElsewhere
    /// Everything was cleared.
    case cleared
    /// Changes may have been missed.
    case untrusted
}
