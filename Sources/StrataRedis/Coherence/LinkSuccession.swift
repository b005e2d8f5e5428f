internal import Strata

/// Which of two links serves which keyspaces, so that a keyspace can be added without a gap for the others.
///
/// A link's topics are fixed when it subscribes. So a second link is made beside the first, for the old keyspaces and
/// the new one. From some moment on both send every notice. When the first has sent the notices of all changes before
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
    /// Topics that wait until a link that is being made stands.
    private var postponed: LinkTopics?
    /// Whether the active link is to be replaced by one that is made later than this was said.
    private var isRenewalDue = false

    var spare: Int { 1 - active }

    /// The new topics of a link, if they have changed.
    mutating func takeOrder(of link: Int) -> LinkTopics? {
        defer { renewIfDue() }
        return orders[link].take()
    }

    /// Whether a link's topics include a keyspace.
    func covers(_ keyspace: Keyspace, _ link: Int) -> Bool { topics[link].prefixes.contains(keyspace.values) }

    /// Whether a link has topics.
    func isWanted(_ link: Int) -> Bool { !topics[link].isEmpty }

    /// Sets the topics that are wanted from now on.
    ///
    /// Topics that are no longer wanted stay until a link is made for new ones.
    mutating func want(_ wanted: LinkTopics) {
        postponed = nil
        if wanted.isEmpty {
            order(wanted, of: active)
            order(wanted, of: spare)
        } else if trust[active] == nil {
            order(wanted, of: active)
        } else if !topics[active].contains(wanted) {
            guard topics[spare].isEmpty else {
                postponed = wanted
                return
            }
            order(wanted, of: spare)
        }
    }

    /// The active link is to be replaced by another that is made from now on, although it listens to all that is wanted.
    ///
    /// A link cannot log in anew: once it listens, the server takes nothing else from it.
    mutating func renew() {
        guard isWanted(active) else { return }
        isRenewalDue = true
        renewIfDue()
    }

    private mutating func renewIfDue() {
        // A driver that was not told yet to give its link up would keep it.
        guard isRenewalDue, trust[active] != nil, topics[spare].isEmpty, orders[spare] == nil else { return }
        isRenewalDue = false
        order(topics[active], of: spare)
    }

    /// A link stands.
    mutating func established(_ link: Int, until: MonotonicInstant, at now: MonotonicInstant) {
        trust[link] = until
        guard link != active else { return renewIfDue() }
        overlap = now
        if trust[active] == nil { succeed() }
    }

    /// A link is trusted for longer: notices have come of everything that was changed before `told`.
    ///
    /// - Returns: Whether the other link has taken its place.
    mutating func trusted(_ link: Int, until: MonotonicInstant, told: MonotonicInstant) -> Bool {
        trust[link] = until
        guard link == active, let overlap, told >= overlap else { return false }
        succeed()
        return true
    }

    /// A link is lost.
    ///
    /// - Returns: Whether the other link has taken its place.
    mutating func lost(_ link: Int) -> Bool {
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
        overlap = nil
        trust[active] = nil
        order(LinkTopics(), of: active)
        active = spare
        if let wanted = postponed { want(wanted) }
        renewIfDue()
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
        Set(prefixes).isSuperset(of: other.prefixes) && Set(channels).isSuperset(of: other.channels)
    }
}
