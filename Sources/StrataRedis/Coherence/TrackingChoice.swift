internal import Strata

/// Chooses of which changes the server is to tell a client: of all, or of what it has read
/// (``TrackingMode/automatic``).
///
/// What counts is the server's processor time. One more listener of a broadcast costs it little, as a message is
/// written once for all keys that have changed in a round of its loop; a notice to one who has read a key is a message
/// of its own. A look at all changes is needed to compare, so the choice for single keys is given up when they cost
/// more than all changes did when they were told last. Costs by `load fanout`.
///
/// A value without I/O: rates in, choice out.
struct TrackingChoice: Sendable {
    /// What happened in an interval, a second.
    struct Rates: Sendable, Equatable {
        /// Keys that the client was told to have changed.
        var told = 0.0
        /// Those among them that it had read since they were changed before.
        var held = 0.0
        /// Keys that it has asked the server for.
        var read = 0.0
    }

    /// The server's microseconds for a key in a broadcast, for one listener.
    static let broadcastCost = 0.1
    /// The server's microseconds for a notice to one who has read the key.
    static let noticeCost = 2.0
    /// The server's microseconds for remembering who has read a key.
    static let memoryCost = 0.15
    /// The other mode has to cost less than this share.
    static let share = 0.7
    /// With fewer changes a second there is nothing to gain.
    static let leastChanges = 50.0
    /// A change of the mode needs the same judgement as often as this, one after the other.
    static let judgements = 2
    /// For how long all changes are told after single keys have cost too much: doubled each time.
    static let pauses: ClosedRange<Duration> = .seconds(60) ... .seconds(3_600)

    private(set) var tracksReads = false
    private var agreeing = 0
    /// What all changes cost when they were told last, in microseconds a second.
    private var broadcast = 0.0
    private var since = MonotonicInstant.distantPast
    private var pause = Self.pauses.lowerBound
    private var notBefore = MonotonicInstant.distantPast

    /// This server does not track reads: the next server may, so the mode is tried again much later.
    mutating func refused(at now: MonotonicInstant) {
        tracksReads = false
        agreeing = 0
        pause = Self.pauses.upperBound
        notBefore = now.advanced(by: pause)
    }

    /// - Returns: Whether only what is read is to be told, if that has changed.
    mutating func judge(_ rates: Rates, at now: MonotonicInstant) -> Bool? {
        let read = rates.read * Self.memoryCost
        let isOtherBetter: Bool
        if tracksReads {
            isOtherBetter = broadcast < (rates.told * Self.noticeCost + read) * Self.share
        } else {
            broadcast = rates.told * Self.broadcastCost
            isOtherBetter =
                rates.told >= Self.leastChanges && now >= notBefore
                && rates.held * Self.noticeCost + read < broadcast * Self.share
        }
        agreeing = isOtherBetter ? agreeing + 1 : 0
        guard agreeing >= Self.judgements else { return nil }
        agreeing = 0
        if tracksReads {
            // Each way back begins memory anew.
            if since.duration(to: now) >= Self.pauses.upperBound { pause = Self.pauses.lowerBound }
            notBefore = now.advanced(by: pause)
            pause = min(pause * 2, Self.pauses.upperBound)
        }
        tracksReads.toggle()
        since = now
        return tracksReads
    }
}
