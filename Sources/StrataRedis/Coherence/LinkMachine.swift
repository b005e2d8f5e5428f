internal import Strata

/// The state machine of the invalidation link to one server: bytes, time and events in, actions and notices out.
///
/// The link is a connection of its own. It asks for its own number, turns on tracking in broadcasting mode with the
/// notices sent to itself, and subscribes to the channel of these notices. The keyspaces' event channels follow in a
/// second command, because an ACL may permit the two by different rules. From then on only PING may be sent.
///
/// What a PONG proves: the server sends notices at the end of a turn of its event loop and answers PING at once, so a
/// PONG may overtake the notice of a change of the same turn (20 times of 20 with Redis 7.0.15). Every PING is sent
/// after the PONG before it was read, hence in a later turn. So with a PONG, notices have come of everything that was
/// changed before the *previous* PING. Trust runs from there.
struct LinkMachine: ~Copyable, Sendable {
    /// What the owner of the socket does.
    enum Action: Equatable {
        case open
        case close
    }

    /// What the link has learned.
    enum Notice: Equatable, Sendable {
        /// The link stands; what was read before may have changed unnoticed.
        case established(trustedUntil: MonotonicInstant)
        /// Entries are trusted until then: notices have come of everything that was changed before `told`.
        case trusted(until: MonotonicInstant, told: MonotonicInstant)
        /// The link is lost.
        case lost(RedisError)
        /// These keys have changed.
        case changed([[UInt8]])
        /// The database was flushed.
        case everythingChanged
        /// A message on a keyspace's event channel.
        case event(channel: [UInt8], message: [UInt8])
    }

    enum Phase: Equatable {
        case idle
        case opening
        /// Authentication, name and CLIENT ID are under way.
        case identifying
        /// Tracking and subscriptions are under way.
        case subscribing
        /// The connections for commands are being tracked.
        case registering
        case live
        case waiting
        case closed
    }

    static let invalidationChannel = Array("__redis__:invalidate".utf8)

    private let settings: LinkSettings
    private var random: SplitMix64
    private(set) var phase = Phase.idle
    /// The topics; empty while there is no listener.
    private var topics: LinkTopics
    private var output = CommandWriter()
    /// Where the server at the other end listens, which is not always fixed.
    private var peer: String
    /// Whether Sentinels have named that server as their primary.
    private var isNamed = false
    private var handshakeAnswered = 0
    private var login = LoginAttempt()
    private var subscriptionsLeft = 0
    private var isTracking = false
    /// The number of the connection at the server.
    private var identifier: Int64?
    /// Until when the server has known the connections that it tracks.
    private var readsCertain = MonotonicInstant.distantFuture
    /// Attempts that failed, and links that were lost before they proved stable, in a row.
    private var failures = 0
    private var liveSince = MonotonicInstant.distantPast
    private var phaseDeadline = MonotonicInstant.distantFuture
    /// When the request for tracking was sent; then when the last two PINGs were.
    private var certain = MonotonicInstant.distantPast
    private var lastPing = MonotonicInstant.distantPast
    /// PINGs that are not answered yet; two, when the link had to begin anew with one under way.
    private var pongsOwed = 0
    private var awaitsPong: Bool { pongsOwed > 0 }

    init(settings: LinkSettings, seed: UInt64) {
        self.settings = settings
        peer = settings.endpoint
        random = SplitMix64(seed: seed)
        topics = LinkTopics()
    }

    // MARK: Wishes

    /// Listens for these topics.
    ///
    /// A link is made anew, for its topics are fixed when it subscribes. Where it does not stand yet, that is no
    /// failure, and no caller that waits for it gets an error.
    mutating func listen(to topics: LinkTopics, now: MonotonicInstant, _ notices: inout [Notice]) -> Action? {
        guard topics != self.topics, phase != .closed else { return nil }
        self.topics = topics
        switch phase {
        case .opening where topics.isEmpty, .identifying, .subscribing, .registering, .live:
            if phase == .live {
                let message = "the topics have changed"
                notices.append(.lost(RedisError(code: .connectionLost, message: message, endpoint: settings.endpoint)))
            }
            end(retryAt: now)
            return .close
        default: return nil
        }
    }

    /// Gives the link up: the server at its other end is not the one to listen to.
    mutating func abandon(_ error: RedisError, now: MonotonicInstant, _ notices: inout [Notice]) -> Action? {
        switch phase {
        case .opening, .identifying, .subscribing, .registering, .live:
            fail(error, now: now, &notices)
            return .close
        case .idle, .waiting, .closed: return nil
        }
    }

    /// No attempt may begin yet: there were too many.
    mutating func postpone(until later: MonotonicInstant) {
        guard phase == .opening else { return }
        phase = .waiting
        phaseDeadline = later
    }

    /// The next attempt need not wait any longer: it is worth more than it was.
    mutating func hurry(now: MonotonicInstant) {
        if phase == .waiting { phaseDeadline = min(phaseDeadline, now) }
    }

    /// Ends the link for good.
    mutating func shutDown(_ notices: inout [Notice]) -> Action? {
        guard phase != .closed else { return nil }
        if phase == .live { notices.append(.lost(.shutDown(settings.endpoint))) }
        phase = .closed
        output.removeAll()
        return .close
    }

    // MARK: What the connections for commands read

    /// The link that the connections for commands are to be tracked for; `nil` for none.
    var trackingLink: Int64? {
        switch phase {
        case .registering, .live: topics.tracksReads ? identifier : nil
        default: nil
        }
    }

    /// All connections for commands are tracked for this link.
    mutating func readsTracked(now: MonotonicInstant, _ notices: inout [Notice]) {
        guard phase == .registering else { return }
        established(now: now, &notices)
    }

    /// The server has known the connections that it tracks until then, at the least.
    mutating func readsProven(until instant: MonotonicInstant) { readsCertain = instant }

    /// A connection was lost on which memory relied: the server no longer tells of changes to some of what was read.
    mutating func readsForgotten(now: MonotonicInstant, _ notices: inout [Notice]) {
        guard phase == .live else { return }
        notices.append(
            .lost(
                RedisError(
                    code: .connectionLost,
                    message: "a connection whose reads the server tracked was lost",
                    endpoint: settings.endpoint
                )
            )
        )
        if topics.tracksReads {
            register(now: now)
        } else {
            notices.append(.established(trustedUntil: trustedUntil))
        }
    }

    private mutating func register(now: MonotonicInstant) {
        phase = .registering
        phaseDeadline = now.advanced(byNanoseconds: settings.connectTimeout)
        certain = now
        readsCertain = now
    }

    // MARK: The socket's owner

    mutating func exchangeOutput(with buffer: inout CommandWriter) { swap(&output, &buffer) }

    mutating func opened(to peer: String? = nil, isNamed: Bool = false) {
        guard phase == .opening else { return }
        phase = .identifying
        if let peer { self.peer = peer }
        self.isNamed = isNamed
        handshakeAnswered = 0
        isTracking = false
        output.removeAll()
        login.begins(settings.handshake)
        settings.handshake.encode(settings.handshake.steps, into: &output)
        output.begin(2)
        output.argument("CLIENT" as StaticString)
        output.argument("ID" as StaticString)
    }

    mutating func openFailed(_ error: RedisError, now: MonotonicInstant, _ notices: inout [Notice]) {
        guard phase == .opening else { return }
        fail(error, now: now, &notices)
    }

    mutating func lost(_ error: RedisError, now: MonotonicInstant, _ notices: inout [Notice]) {
        guard [.identifying, .subscribing, .registering, .live].contains(phase) else { return }
        fail(error, now: now, &notices)
    }

    mutating func received(_ reply: RESPValue, now: MonotonicInstant, _ notices: inout [Notice]) -> Action? {
        do throws(RedisError) {
            switch phase {
            case .identifying: try identified(by: reply, now: now)
            case .subscribing, .registering, .live: try listened(to: reply, now: now, &notices)
            default: break
            }
            return nil
        } catch {
            fail(error, now: now, &notices)
            return .close
        }
    }

    mutating func advance(now: MonotonicInstant, _ notices: inout [Notice]) -> Action? {
        switch phase {
        case .idle where !topics.isEmpty, .waiting where !topics.isEmpty && now >= phaseDeadline:
            phase = .opening
            phaseDeadline = now.advanced(byNanoseconds: settings.connectTimeout)
            return .open
        case .opening where now >= phaseDeadline, .identifying where now >= phaseDeadline,
            .subscribing where now >= phaseDeadline, .registering where now >= phaseDeadline:
            fail(timedOut("no invalidation link within the connect timeout"), now: now, &notices)
            return .close
        case .live where awaitsPong && now >= lastPing.advanced(byNanoseconds: settings.pingTimeout):
            fail(timedOut("the invalidation link does not answer"), now: now, &notices)
            return .close
        case .live where !awaitsPong && now >= lastPing.advanced(byNanoseconds: settings.pingInterval):
            ping(now: now)
            return nil
        default: return nil
        }
    }

    var nextDeadline: MonotonicInstant {
        switch phase {
        case .opening, .identifying, .subscribing, .registering: phaseDeadline
        case .waiting: topics.isEmpty ? .distantFuture : phaseDeadline
        case .live: lastPing.advanced(byNanoseconds: awaitsPong ? settings.pingTimeout : settings.pingInterval)
        case .idle, .closed: .distantFuture
        }
    }

    // MARK: Inside

    private mutating func identified(by reply: RESPValue, now: MonotonicInstant) throws(RedisError) {
        let steps = settings.handshake.steps
        guard handshakeAnswered == steps.count else {
            if let failure = settings.handshake.failure(
                of: steps[handshakeAnswered],
                reply,
                endpoint: peer,
                isNamed: isNamed
            ) {
                throw failure
            }
            handshakeAnswered += 1
            return
        }
        guard let number = reply.number(in: ServerNumber.identifier) else { throw refused("CLIENT ID", reply) }
        phase = .subscribing
        identifier = number
        certain = now
        topics.encode(redirectingTo: number, into: &output)
        subscriptionsLeft = 1 + topics.channels.count
    }

    private mutating func listened(
        to reply: RESPValue,
        now: MonotonicInstant,
        _ notices: inout [Notice]
    ) throws(RedisError) {
        if !isTracking, case .status("OK") = reply {
            isTracking = true
            return
        }
        // One answer a PING, in its place: it proves as much as a PONG.
        if phase == .live, awaitsPong, reply.isRefusedPing { return ponged(&notices) }
        guard case .array(let parts) = reply, let kind = parts.first?.bytes else {
            throw refused(isTracking ? "SUBSCRIBE" : "CLIENT TRACKING", reply)
        }
        switch String(decoding: kind, as: UTF8.self) {
        // A notice may come before the acknowledgement of the subscription (redis/redis#13645).
        case "message" where parts.count == 3: message(parts, &notices)
        case "subscribe" where phase == .subscribing:
            subscriptionsLeft -= 1
            guard subscriptionsLeft == 0 else { break }
            guard isTracking else { throw refused("CLIENT TRACKING", reply) }
            readsCertain = .distantFuture
            if topics.tracksReads { register(now: now) } else { established(now: now, &notices) }
        case "pong" where awaitsPong: ponged(&notices)
        default: throw refused("the invalidation link", reply)
        }
    }

    private mutating func ponged(_ notices: inout [Notice]) {
        pongsOwed -= 1
        // With two on their way, the first says nothing of what was before the link began anew.
        guard !awaitsPong else { return }
        if phase == .live { notices.append(.trusted(until: trustedUntil, told: told)) }
        certain = lastPing
    }

    /// Takes a message down; what cannot be read of it may be anything that has changed.
    private func message(_ parts: [RESPValue], _ notices: inout [Notice]) {
        guard let channel = parts[1].bytes else { return notices.append(.everythingChanged) }
        guard channel == Self.invalidationChannel else {
            let event = parts[2].bytes.map { Notice.event(channel: channel, message: $0) }
            return notices.append(event ?? .everythingChanged)
        }
        // Any user who may publish to the channel can send text; the server itself sends arrays and null only.
        switch parts[2] {
        case .null: notices.append(.everythingChanged)
        case .array(let keys):
            let names = keys.compactMap(\.bytes)
            notices.append(names.count == keys.count ? .changed(names) : .everythingChanged)
        default: break
        }
    }

    private mutating func established(now: MonotonicInstant, _ notices: inout [Notice]) {
        phase = .live
        liveSince = now
        notices.append(.established(trustedUntil: trustedUntil))
        ping(now: now)
    }

    /// Notices have come of everything that was changed before then.
    private var told: MonotonicInstant { min(certain, readsCertain) }

    /// Twice the interval, because a PONG proves what was before the PING before it; and the time an answer may take.
    private var trustedUntil: MonotonicInstant {
        told.advanced(byNanoseconds: settings.pingInterval).advanced(byNanoseconds: settings.pingInterval)
            .advanced(byNanoseconds: settings.pingTimeout)
    }

    private mutating func ping(now: MonotonicInstant) {
        lastPing = now
        pongsOwed += 1
        output.begin(1)
        output.argument("PING" as StaticString)
    }

    private mutating func fail(_ error: RedisError, now: MonotonicInstant, _ notices: inout [Notice]) {
        let wasStable = phase == .live && liveSince.nanoseconds(to: now) >= settings.stableAfter
        failures = wasStable ? 0 : failures + 1
        notices.append(.lost(error))
        let isOutdated = login.failed(isRefused: phase == .identifying, settings.handshake)
        let delay = ReconnectDelay.next(
            settings.reconnectDelay,
            failures: failures,
            error,
            loginIsOutdated: isOutdated,
            using: &random
        )
        end(retryAt: now.advanced(byNanoseconds: delay))
    }

    private mutating func end(retryAt instant: MonotonicInstant) {
        phase = .waiting
        output.removeAll()
        pongsOwed = 0
        phaseDeadline = instant
    }

    private func timedOut(_ message: String) -> RedisError {
        RedisError(code: .connectionLost, message: message, endpoint: settings.endpoint)
    }

    /// A refusal that names the refused command, and so the missing permission.
    private func refused(_ command: String, _ reply: RESPValue) -> RedisError {
        guard case .error(let text) = reply else {
            return RedisError(
                code: .protocolViolation,
                message: "\(command) got an unexpected answer",
                endpoint: settings.endpoint
            )
        }
        var error = RedisError.reply(text, endpoint: settings.endpoint)
        error.message = "\(command) was refused: \(RedisError.printableCode(of: text))"
        return error
    }
}
