internal import Strata

extension LinkDriver {
    /// Has the connections for commands tracked while this link is to be told of what they read, and no longer than
    /// that.
    func follow(_ tracking: ReadTracking, now: MonotonicInstant) {
        let losses = tracking.losses
        if losses != seen.losses { tell { $0.readsForgotten(now: now, &$1) } }
        seen = (tracking.news, losses)
        let (wanted, phase) = link.withMachine(number) { ($0.trackingLink, $0.phase) }
        if phase == .live, now >= asked.advanced(by: configuration.linkPingInterval), link.isActive(number) {
            asked = now
            tracking.ping(now: now)
        }
        guard let wanted else {
            // Every change is told by now, so what was read needs no other way; unless the other link is to take over.
            guard phase == .live, link.isActive(number), let target = tracking.target, target != other else { return }
            return tracking.point(to: nil, now: now)
        }
        if phase == .live {
            if let target = tracking.target, target == other || target == wanted && !tracking.isRefused(for: wanted) {
                return
            }
            // The link that was to take this one's place is gone, and what was changed meanwhile with it; or a
            // connection that was made anew is not tracked.
            tell { $0.readsForgotten(now: now, &$1) }
        }
        if tracking.target != wanted { tracking.point(to: wanted, now: now) }
        if let refusal = tracking.refusal { return link.refuseTracking(refusal) }
        if tracking.isComplete(for: wanted) { tell { $0.readsTracked(now: now, &$1) } }
    }

    /// What the other link is to be told of the connections, if it is.
    private var other: Int64? { link.withMachine(InvalidationLink.links - 1 - number) { $0.trackingLink } }

    private func tell(_ body: (inout LinkMachine, inout [LinkMachine.Notice]) -> Void) {
        step { machine, notices in
            body(&machine, &notices)
            return nil
        }
    }
}
