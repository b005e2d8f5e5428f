extension ReadTrace {
    /// Why a step had no value to serve, or did not store one.
    ///
    /// More reasons may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The name of the reason.
        public let description: String

        // MARK: Nothing to serve

        /// The level has no entry, and does not know of an earlier one.
        public static let absent = Reason(description: "absent")
        /// Its lifetime was over.
        public static let expired = Reason(description: "expired")
        /// It is past its freshness; a newer one was asked for.
        public static let stale = Reason(description: "stale")
        /// It is fresh, but the read wants a newer one: it reloads, refreshes, or sets a maximum age.
        public static let notWanted = Reason(description: "not wanted")
        /// It had to make room for others.
        public static let evicted = Reason(description: "evicted")
        /// It was not read for the level's idle lifetime.
        public static let idle = Reason(description: "idle")
        /// This process has removed the key.
        public static let removed = Reason(description: "removed")
        /// This process has written another value since.
        public static let replaced = Reason(description: "replaced")
        /// Another process has written or removed the key, or Redis has dropped it.
        public static let changedElsewhere = Reason(description: "changed elsewhere")
        /// One of its tags was invalidated.
        public static let tagInvalidated = Reason(description: "tag invalidated")
        /// Everything was cleared.
        public static let cleared = Reason(description: "cleared")
        /// It was voided, and the cause is no longer known.
        public static let voided = Reason(description: "voided")
        /// An invalidation of it could not be sent yet, because Redis could not be reached.
        public static let invalidationPending = Reason(description: "invalidation pending")
        /// The level does not hear of changes made elsewhere, or did not for a while.
        public static let untrustedLink = Reason(description: "untrusted link")
        /// It comes from before this process began, or its record had to be forgotten, and others may have changed it
        /// since.
        public static let unconfirmed = Reason(description: "unconfirmed")
        /// The bytes are damaged, or cut short.
        public static let damaged = Reason(description: "damaged")
        /// Another release, codec, schema number or secret has written it.
        public static let otherSchema = Reason(description: "other schema")
        /// The bytes belong to another program, or to another key.
        public static let foreign = Reason(description: "foreign")

        // MARK: Not asked

        /// The options of the read leave the level out.
        public static let skipped = Reason(description: "skipped")
        /// Redis has failed too often of late.
        public static let circuitOpen = Reason(description: "circuit open")
        /// The call has spent its time for Redis.
        public static let budgetSpent = Reason(description: "budget spent")
        /// The source has failed a moment ago.
        public static let backOff = Reason(description: "back-off")

        // MARK: Not stored

        /// The key has changed since the read began.
        public static let changedMeanwhile = Reason(description: "changed meanwhile")
        /// The lease was gone: it has run out, or the key was changed.
        public static let leaseLost = Reason(description: "lease lost")
        /// Another instance fetches the key.
        public static let othersFetch = Reason(description: "others fetch")
        /// The level that gave the value said not to keep it, or could not vouch for it.
        public static let notKept = Reason(description: "not kept")
        /// The server has no memory for it.
        public static let outOfMemory = Reason(description: "out of memory")
        /// It is larger than the level may hold, or read again.
        public static let tooLarge = Reason(description: "too large")
    }
}

extension ReadTrace.Reason {
    /// The reason that an error stands for; `nil` for an error that is its own reason.
    package init?(_ error: any Error) {
        switch CacheError.name(of: error) {
        case "circuit open": self = .circuitOpen
        case "budget spent": self = .budgetSpent
        case "too large": self = .tooLarge
        default: return nil
        }
    }

    /// The cause that ended a seal: one of its tags was invalidated, or everything was voided.
    package init(ending seal: TagSeal?) {
        self = seal?.voidCause.map { ReadTrace.Reason($0) } ?? .tagInvalidated
    }

    /// What has voided a key.
    package init(_ cause: VoidCause?) {
        self =
            switch cause {
            case .removed: .removed
            case .replaced: .replaced
            case .changedElsewhere: .changedElsewhere
            case .cleared: .cleared
            case .untrusted: .untrustedLink
            case nil: .voided
            }
    }
}
