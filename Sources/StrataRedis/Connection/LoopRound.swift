internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What an I/O thread drives in each of its rounds: groups of connections, one after the other.
///
/// Lives on the I/O thread.
struct LoopRound: ~Copyable {
    /// For how long events are handled, in nanoseconds, before deadlines are looked at again and commands are sent.
    ///
    /// One group is handled in any case, and reads a bounded number of bytes. Those that are left come first in the
    /// next round. So nodes that send without end hold up the others' replies and deadlines for that long.
    static let slice: Int64 = 2_000_000

    final class Member {
        let group: ConnectionGroup
        fileprivate let drivers: [any LoopDriver]
        /// Nodes may be near and far, so each has its own.
        var busyWait = BusyWait()
        /// Where its drivers begin in ``LoopRound/places``.
        fileprivate var start = 0

        fileprivate init(_ group: ConnectionGroup, _ drivers: [any LoopDriver]) {
            self.group = group
            self.drivers = drivers
        }
    }

    private var members: [Member] = []
    private var descriptors: [pollfd] = []
    /// Where the descriptor of each driver stands among them; 0 for a driver without one.
    private var places: [Int] = []
    /// The member whose events come first in the next round.
    private var first = 0
    /// The member that has last had an event.
    private var latest = 0

    var isEmpty: Bool { members.isEmpty }

    mutating func add(_ group: ConnectionGroup, _ drivers: [any LoopDriver]) {
        members.append(Member(group, drivers))
    }

    /// Lets go of groups that have nothing left to do.
    ///
    /// Returns them; their descriptors are closed.
    mutating func removeFinished() -> [ConnectionGroup] {
        guard members.contains(where: { $0.group.isEnding }) else { return [] }
        let finished = members.filter { $0.group.isEnding && $0.drivers.allSatisfy { $0.isFinished } }.map(\.group)
        guard !finished.isEmpty else { return [] }
        members.removeAll { member in finished.contains { $0 === member.group } }
        (first, latest) = (0, 0)
        return finished
    }

    func pump() {
        for member in members {
            for driver in member.drivers { driver.pump(now: .now) }
        }
    }

    var nextDeadline: MonotonicInstant {
        members.reduce(.distantFuture) { $1.drivers.reduce($0) { min($0, $1.nextDeadline) } }
    }

    /// The member for which a busy wait begins now; `nil` when none does.
    ///
    /// It is the one that owes a reply, or the one that has had the last.
    mutating func beginBusyWait() -> Member? {
        guard !members.isEmpty else { return nil }
        var (all, owing) = (0, latest)
        for (place, member) in members.enumerated() {
            let inFlight = member.group.inFlight
            guard inFlight > 0 else { continue }
            all += inFlight
            owing = place
            if all > BusyWait.mostInFlight { return nil }
        }
        return members[owing].busyWait.begins(inFlight: all) ? members[owing] : nil
    }

    // MARK: Events

    /// Lists what to wait for: the descriptor that wakes the thread, and those of all drivers.
    ///
    /// A driver without one has no entry: `poll` refuses more entries than the process may have descriptors.
    mutating func list(_ wakeup: Int32) {
        descriptors.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0))
        for member in members {
            member.start = places.count
            for driver in member.drivers {
                guard let (descriptor, events) = driver.interest else {
                    places.append(0)
                    continue
                }
                places.append(descriptors.count)
                descriptors.append(pollfd(fd: descriptor, events: events, revents: 0))
            }
        }
    }

    /// How many descriptors are waited for.
    var waitingFor: Int { descriptors.count }

    /// Waits for events.
    mutating func poll(milliseconds: Int32) -> Int32 {
        #if canImport(Darwin)
        Darwin.poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        #elseif canImport(Musl)
        Musl.poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        #else
        Glibc.poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        #endif
    }

    /// Whether another thread has woken this one.
    var isWoken: Bool { descriptors[0].revents != 0 }

    /// Hands sockets' events to their drivers, for ``slice`` and one member more at most.
    mutating func handle() {
        var now = MonotonicInstant.now
        let end = now.advanced(byNanoseconds: Self.slice)
        var place = first
        for _ in members.indices {
            let hadEvents = handle(place, now)
            place = place + 1 < members.count ? place + 1 : 0
            guard hadEvents, members.count > 1 else { continue }
            now = .now
            if now >= end { break }
        }
        first = place
    }

    /// Returns whether there were events.
    private mutating func handle(_ place: Int, _ now: MonotonicInstant) -> Bool {
        let member = members[place]
        var hadEvents = false
        for (offset, driver) in member.drivers.enumerated() {
            let place = places[member.start + offset]
            guard place > 0, descriptors[place].revents != 0 else { continue }
            let events = descriptors[place].revents
            driver.handle(events: events, now: now)
            hadEvents = true
        }
        if hadEvents { latest = place }
        return hadEvents
    }
}
