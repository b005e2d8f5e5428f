/// A message between instances over a keyspace's channel, about an event that no change of a value key shows.
///
/// A message is one letter, then the full name of the value key.
enum KeyspaceEvent: UInt8 {
    /// Value and lease were removed.
    case invalidated = 0x69  // i
    /// A lease ended without a value.
    case ended = 0x65  // e

    func message(for names: KeyNames) -> [UInt8] {
        [rawValue] + names.value.bytes
    }
}
