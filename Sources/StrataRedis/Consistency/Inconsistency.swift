public import Strata

/// An entry that an instance serves from its memory although it is older than what Redis holds.
public struct Inconsistency: Sendable, Hashable {
    /// What Redis holds in its place.
    public enum Stored: Sendable, Hashable {
        /// Nothing: it was removed, has expired or was evicted.
        case nothing
        /// Another entry, with this stamp.
        case entry(EntryVersion)
        /// The same entry, which a tag or a clear has voided.
        case void
        /// Bytes that are no entry.
        case other
    }

    /// Why the instance serves it, as far as its answer shows.
    ///
    /// More may be added.
    public struct Cause: Sendable, Hashable, CustomStringConvertible {
        /// A short word for programs, such as `neverHeard`.
        public let name: String
        /// For a person.
        public let description: String

        private init(_ name: String, _ description: String) { (self.name, self.description) = (name, description) }

        /// The instance's level has no link: ``Coherence/none``.
        public static let notListening = Cause("notListening", "its level does not listen for changes")
        /// The instance does not hear of changes at the moment, and does not know that yet.
        public static let linkLost = Cause("linkLost", "its link is lost")
        /// The instance's link was made anew after the change, which should have voided everything.
        public static let missedInGap = Cause("missedInGap", "its link was down when it changed, and is up again")
        /// The instance has heard of the change and still serves the entry.
        public static let heardAndKept = Cause("heardAndKept", "it heard of the change, but kept the entry")
        /// The link stands, and the change was not told over it.
        public static let neverHeard = Cause("neverHeard", "its link is up, but it has not heard of the change")
        /// The instance cannot tell any more.
        public static let unknown = Cause("unknown", "its trail does not reach back to the change")
    }

    /// The name of the value in Redis.
    public let key: RedisKey
    /// The user's key.
    public let keyBytes: [UInt8]
    /// The instance's name, or its number in the fleet if it has no name.
    public let instance: String
    /// The delay after which the monitor looked.
    public let delay: Duration
    /// How long ago the monitor heard of the change.
    public let age: Duration
    /// The stamp of the entry in memory; `nil` for one without, such as one that was set in memory alone.
    public let version: EntryVersion?
    /// What Redis holds.
    public let stored: Stored
    /// Why.
    public let cause: Cause
}
