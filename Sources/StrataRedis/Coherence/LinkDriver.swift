internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The thin shell between the state machine of an invalidation link and its socket.
///
/// It lives on the I/O thread and reports there.
final class LinkDriver: LoopDriver {
    let link: InvalidationLink
    let number: Int
    let configuration: RedisConfiguration
    private let buffer: UnsafeMutableRawBufferPointer
    private let dialer: Dialer
    private let limit: ReconnectLimit
    private let locator: (any ServerLocator)?
    private let tracking: ReadTracking?
    /// What was seen of the tracking: news, and connections that were lost.
    var seen = (news: UInt64(0), losses: UInt64(0))
    /// When the tracked connections were last asked for a sign.
    var asked = MonotonicInstant.distantPast
    private var locatorNews = LocatorNews()
    private var stream: WireStream?
    private var replies: [RESPValue] = []
    private var notices: [LinkMachine.Notice] = []
    /// Nothing is due before this time, or until this count of news changes.
    private var rest = (until: MonotonicInstant.distantPast, news: UInt64(0))

    init(link: InvalidationLink, number: Int, thread: LoopThread) {
        self.link = link
        self.number = number
        configuration = thread.configuration
        limit = thread.limit
        buffer = thread.buffer
        locator = thread.locator
        tracking = thread.tracking
        dialer = Dialer(thread)
    }

    /// What is told are names and short messages, whatever values may be.
    private var limits: ReplyLimits {
        var limits = configuration.replyLimits
        limits.bulkLength = max(limits.bulkLength, 64 << 10)
        return limits
    }

    var interest: (descriptor: Int32, events: Int16)? {
        if isHeld { return nil }
        if let stream { return (stream.descriptor, Int16(POLLIN) | (stream.wantsToSend ? Int16(POLLOUT) : 0)) }
        return dialer.interest
    }

    var nextDeadline: MonotonicInstant {
        if hasTrackingNews { return .distantPast }
        return min(link.withMachine(number) { $0.nextDeadline }, dialer.nextDeadline)
    }

    private var hasTrackingNews: Bool { tracking.map { $0.news != seen.news } ?? false }

    /// A link without topics ends with the others.
    var isFinished: Bool { link.withMachine(number) { $0.phase == .closed } }

    func pump(now: MonotonicInstant) {
        let news = link.latestNews
        let hasMoved = locator.map { locatorNews.isNews($0) } ?? false
        guard news != rest.news || now >= rest.until || hasMoved || hasTrackingNews else { return }
        if let locator { follow(locator, now: now) }
        if let error = link.takeCondemnation(of: number) {
            step { machine, notices in machine.abandon(error, now: now, &notices) }
        }
        step { machine, notices in link.takeTopics(of: number).flatMap { machine.listen(to: $0, now: now, &notices) } }
        if let error = dialer.overdue(now: now) { dialed(.failed(error), now: now) }
        while step({ $0.advance(now: now, &$1) }) {}
        if let tracking { follow(tracking, now: now) }
        if stream == nil { dialed(dialer.advance(now: now), now: now) }
        if !isHeld,
            let error = stream?.flush({ buffer in link.withMachine(number) { $0.exchangeOutput(with: &buffer) } })
        {
            lost(error, now: now)
        }
        tell()
        // A name is resolved on another thread, which only wakes this one.
        let isDialing = stream == nil && link.withMachine(number) { $0.phase == .opening }
        rest = (isDialing || isHeld ? .distantPast : nextDeadline, news)
    }

    /// Whether the server may be another by now: its answer to a PING would prove nothing.
    private var isHeld: Bool { stream != nil && locator?.isInDoubt == true }

    /// Leaves a server that is no longer the primary: it does not tell of changes made at another.
    private func follow(_ locator: any ServerLocator, now: MonotonicInstant) {
        if stream != nil, dialer.isOutdated {
            lost(.moved(configuration.place), now: now)
        }
        if locatorNews.take(locator) { link.withMachine(number) { $0.hurry(now: now) } }
    }

    func handle(events: Int16, now: MonotonicInstant) {
        rest.until = .distantPast
        if stream == nil {
            dialed(dialer.handle(now: now), now: now)
        } else if !isHeld, events & ~Int16(POLLOUT) != 0 {
            receive(now: now)
        }
        tell()
    }

    /// Runs a step of the machine and the actions that it asks for.
    ///
    /// Returns whether it asked for anything.
    @discardableResult
    func step(
        _ body: (inout LinkMachine, inout [LinkMachine.Notice]) -> LinkMachine.Action?
    ) -> Bool {
        switch link.withMachine(number, { body(&$0, &notices) }) {
        case .open:
            if let later = limit.take(for: self, at: .now) {
                link.withMachine(number) { $0.postpone(until: later) }
            } else {
                dialed(dialer.start(now: .now), now: .now)
            }
            return true
        case .close:
            drop()
            return true
        case nil: return false
        }
    }

    private func dialed(_ outcome: Dialer.Outcome, now: MonotonicInstant) {
        switch outcome {
        case .pending: break
        case .connected(let socket, let secure):
            let endpoint = dialer.endpoint.description
            stream = WireStream(socket, secure, limits: limits, endpoint: endpoint)
            link.withMachine(number) { $0.opened(to: endpoint, isNamed: locator?.namesPrimaries == true) }
        case .failed(let error):
            dialer.abandon()
            link.withMachine(number) { $0.openFailed(error, now: now, &notices) }
        }
    }

    private func receive(now: MonotonicInstant) {
        if let tracking { link.withMachine(number) { $0.readsProven(until: tracking.certain) } }
        let error = stream?
            .receive(through: buffer, into: &replies) { replies, _ in
                for reply in replies {
                    if step({ $0.received(reply, now: now, &$1) }) { return false }
                }
                return true
            }
        if let error { lost(error, now: now) }
    }

    private func lost(_ error: RedisError, now: MonotonicInstant) {
        link.withMachine(number) { $0.lost(error, now: now, &notices) }
        drop()
    }

    private func drop() {
        dialer.abandon()
        stream = nil
    }

    /// Passes the notices on, outside every lock and in their order.
    private func tell() {
        guard !notices.isEmpty else { return }
        for notice in notices { link.tell(notice, by: number) }
        notices.removeAll(keepingCapacity: true)
    }
}
