internal import Strata

/// Which of two links serves which keyspaces, so that a keyspace can be added, or the mode changed, without a gap.
///
/// A link's topics are fixed when it subscribes. So a second link is made beside the first, for the topics that are
/// wanted now. From some moment on both send every notice. When the first has sent the notices of all changes before
/// that moment, it is closed, and the second takes its place.
struct LinkSuccession: Sendable {
    /// The link that serves the keyspaces.
    private(set) var active = 0
    /// The topics of each link.
    private var topics = [LinkTopics(), LinkTopics()]
    /// The topics that each link's driver has not taken yet.
    private var orders: [LinkTopics?] = [nil, nil]
    /// Until when each link is trusted; `nil` for one that does not stand.
    private(set) var trust: [MonotonicInstant?] = [nil, nil]
    /// When the other link began to send every notice.
    private var overlap: MonotonicInstant?
    /// What was wanted last.
    private var wanted = LinkTopics()
    /// Whether the active link is to be replaced by one that is made later than this was said.
    private var isRenewalDue = false

    var spare: Int { 1 - active }

    /// The new topics of a link, if they have changed.
    mutating func takeOrder(of link: Int) -> LinkTopics? {
        defer { reconcile() }
        return orders[link].take()
    }

    /// Whether a link's topics include a keyspace.
    func covers(_ keyspace: Keyspace, _ link: Int) -> Bool { topics[link].prefixes.contains(keyspace.tags) }

    /// Whether a link is told of what connections read, and not of every change.
    func tracksReads(_ link: Int) -> Bool { topics[link].tracksReads }

    /// Whether a link has topics.
    func isWanted(_ link: Int) -> Bool { !topics[link].isEmpty }

    /// Sets the topics that are wanted from now on.
    ///
    /// Topics that are no longer wanted stay until a link is made for new ones.
    mutating func want(_ wanted: LinkTopics) {
        self.wanted = wanted
        reconcile()
    }

    /// The active link is to be replaced by another that is made from now on, although it listens to all that is
    /// wanted.
    ///
    /// A link cannot log in anew: once it listens, the server takes nothing else from it.
    mutating func renew() {
        guard isWanted(active) else { return }
        isRenewalDue = true
        reconcile()
    }

    /// A link stands.
    mutating func established(_ link: Int, until: MonotonicInstant, at now: MonotonicInstant) {
        // It is given up already, and has not been told.
        guard isWanted(link) else { return }
        trust[link] = until
        if link != active {
            overlap = now
            if trust[active] == nil { succeed() }
        }
        reconcile()
    }

    /// A link is trusted for longer: notices have come of everything that was changed before `told`.
    ///
    /// - Returns: Whether the other link has taken its place.
    mutating func trusted(_ link: Int, until: MonotonicInstant, told: MonotonicInstant) -> Bool {
        guard trust[link] != nil else { return false }
        trust[link] = until
        guard link == active, let overlap, told >= overlap else { return false }
        succeed()
        reconcile()
        return true
    }

    /// A link is lost.
    ///
    /// - Returns: Whether the other link has taken its place.
    mutating func lost(_ link: Int) -> Bool {
        defer { reconcile() }
        trust[link] = nil
        guard link == active else {
            overlap = nil
            return false
        }
        guard trust[spare] != nil else { return false }
        succeed()
        return true
    }

    private mutating func succeed() {
        giveUp(active)
        active = spare
    }

    private mutating func giveUp(_ link: Int) {
        overlap = nil
        trust[link] = nil
        order(LinkTopics(), of: link)
    }

    /// Brings the links to what is wanted, as far as that can be done now.
    private mutating func reconcile() {
        if wanted.isEmpty {
            order(wanted, of: active)
            order(wanted, of: spare)
        } else if trust[active] == nil {
            // Nothing is to be kept, so one link is enough.
            order(wanted, of: active)
            if isWanted(spare) { giveUp(spare) }
        } else if !topics[active].contains(wanted) || isRenewalDue {
            // A driver that was not told yet to give its link up would keep it.
            if !isWanted(spare), orders[spare] == nil {
                isRenewalDue = false
                order(topics[active].contains(wanted) ? topics[active] : wanted, of: spare)
            } else if isWanted(spare), topics[spare].tracksReads != wanted.tracksReads {
                giveUp(spare)
            }
        } else if isWanted(spare), topics[spare].tracksReads != wanted.tracksReads {
            giveUp(spare)
        }
    }

    private mutating func order(_ wanted: LinkTopics, of link: Int) {
        guard wanted != topics[link] else { return }
        topics[link] = wanted
        orders[link] = wanted
    }
}

extension LinkTopics {
    /// Whether everything in another set of topics is in this one.
    func contains(_ other: LinkTopics) -> Bool {
        tracksReads == other.tracksReads
            && Set(prefixes).isSuperset(of: other.prefixes) && Set(channels).isSuperset(of: other.channels)
    }
}
