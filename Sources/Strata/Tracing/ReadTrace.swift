/// The account of one read: where the value was found, how old it is, why each level before had none, and how long each
/// step took.
///
/// `description` is that account in a line. It holds neither the key nor the value.
public struct ReadTrace: Sendable, Hashable {
    /// The state of the value that was returned.
    public enum State: Sendable, Hashable {
        /// Within its lifetime.
        case fresh
        /// Past its lifetime; the levels below had no newer one.
        case stale
        /// The level cannot tell whether the value has changed, and the levels below could not be asked.
        case suspect
        /// There is no value.
        case absent
    }

    /// Why a stale value was returned.
    ///
    /// More reasons may be added.
    public struct StaleReason: Sendable, Hashable, CustomStringConvertible {
        /// The name of the reason.
        public let description: String

        /// A fetch is running in the background.
        public static let refreshing = StaleReason(description: "refreshing")
        /// The levels below have failed.
        public static let failed = StaleReason(description: "failed")
        /// The levels below failed a moment ago and were not asked again.
        public static let paused = StaleReason(description: "paused")
        /// The levels below took too long.
        public static let late = StaleReason(description: "late")
        /// Another instance is fetching it.
        public static let othersFetch = StaleReason(description: "others fetch")
        /// The options forbade to ask the source.
        public static let notAsked = StaleReason(description: "not asked")
    }

    /// What happened in a step.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        /// The name of the event.
        public let description: String

        /// The level had it.
        public static let hit = Event(description: "hit")
        /// The level did not have it.
        public static let miss = Event(description: "miss")
        /// The level failed.
        public static let failed = Event(description: "failed")
        /// The level was not asked: the read's options leave it out.
        public static let skipped = Event(description: "skipped")
        /// The level was not asked: its condition did not hold.
        public static let excluded = Event(description: "excluded")
        /// The level is still being filled; the read did not wait.
        public static let filling = Event(description: "filling")
        /// Another task of this process was reading already.
        public static let joined = Event(description: "joined")
        /// Another process was fetching.
        public static let waited = Event(description: "waited")
        /// This read fetched the value.
        public static let fetched = Event(description: "fetched")
        /// The level was filled with the value.
        public static let stored = Event(description: "stored")
        /// The level was not filled with the value; ``ReadTrace/Step/reason`` says why.
        public static let refused = Event(description: "refused")
    }

    /// One step of the read.
    public struct Step: Sendable, Hashable {
        /// What happened.
        public internal(set) var event: Event
        /// Where.
        public let origin: EntryOrigin
        /// How long it took.
        public let duration: Duration
        /// The instance that was fetching, for a read that waited for it.
        public let whom: String?
        /// The name of the error's type, or its code for a ``CacheError``; `nil` when the step did not fail.
        public let error: String?
        /// Why there was nothing to serve, the level was not asked, or it was not filled; `nil` where the step needs no
        /// reason, or it is not known.
        public internal(set) var reason: Reason?
        /// The span of the read that was fetching, for a read that waited for another process.
        package let leader: TraceParent?

        init(
            _ event: Event,
            _ origin: EntryOrigin,
            _ duration: Duration,
            whom: String? = nil,
            error: String? = nil,
            reason: Reason? = nil,
            leader: TraceParent? = nil
        ) {
            self.event = event
            self.origin = origin
            self.duration = duration
            self.whom = whom
            self.error = error
            self.reason = reason
            self.leader = leader
        }
    }

    /// The level that had the value; `nil` when none had.
    public let origin: EntryOrigin?
    /// The state of the value.
    public let state: State
    /// Why it was returned although it is stale, or although this read meant to replace it; `nil` when neither is so,
    /// or the level that had it does not say.
    public let staleReason: StaleReason?
    /// How old the value was; `nil` when that is not known.
    public let age: Duration?
    /// How long the whole read took.
    public let duration: Duration
    /// The steps in their order.
    public let steps: [Step]

    /// Whether the read has waited for another process or another task.
    public var hasWaited: Bool { steps.contains { $0.event == .waited || $0.event == .joined } }
}
