/// The thread of a ``FaultProxy`` and all that it works on.
///
/// Everything lies in one ``Monitor``. The thread holds its lock except while it sleeps in `poll`; a control call
/// changes the state under the lock, wakes the thread and waits until it has acted. Sockets are made and closed by the
/// thread alone, so none is closed while `poll` watches it.
final class ProxyLoop: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct State: Sendable {
        var upstream: SocketAddress
        var listener: ListeningSocket?
        var admission = FaultProxy.Admission.accept
        var seed: UInt64
        var conditions = (toServer: LinkConditions(), toClient: LinkConditions())
        var edits = (toServer: [WireEdit](), toClient: [WireEdit]())
        var connections: [ProxyConnection] = []
        var counts = FaultProxy.Counts()
        var isStopped = false
        /// How many control calls were made, and how many of them the thread has acted upon.
        var calls = 0
        var callsDone = 0
        /// After a failed accept (no descriptors left, say) the thread waits instead of spinning.
        var acceptAgainAt: Instant?
    }

    let place: ListeningPlace
    let state: Monitor<State>
    let waiters = ConditionQueue<FaultProxy.Snapshot>(owner: "the proxy")
    private let signal: WakeSignal

    init(place: ListeningPlace, upstream: SocketAddress, seed: UInt64) throws {
        self.place = place
        signal = try WakeSignal()
        state = Monitor(State(upstream: upstream, listener: try place.listen(), seed: seed))
    }

    /// Changes the state; returns when the thread has acted accordingly.
    func control<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        let (result, call) = try state.withLock { state in
            let result = try body(&state)
            state.calls += 1
            return (result, state.calls)
        }
        signal.wake()
        return state.wait(until: { $0.callsDone >= call }, then: { _ in result })
    }

    func wake() {
        signal.wake()
    }

    /// The body of the thread; returns after a stop.
    func run() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var readiness = Readiness()
        // Kept for the time of the sleep: a control call may let go of the listener meanwhile.
        var polledListener: ListeningSocket?
        while true {
            let (next, isLast) = state.change { state in
                polledListener = nil
                let next = Self.turn(&state, &readiness, signal, &buffer)
                polledListener = state.listener
                state.callsDone = state.isStopped ? .max : state.calls
                return (next, state.isStopped)
            }
            waiters.settle { state.withLock { $0.snapshot } }
            if isLast { break }
            readiness.wait(until: next)
            signal.clear()
        }
        withExtendedLifetime(polledListener) {}
        waiters.finish()
        place.remove()
    }

    /// Does all that can be done now and returns when there will be more to do without anything new happening.

    private static func turn(
        _ state: inout State,
        _ readiness: inout Readiness,
        _ signal: WakeSignal,
        _ buffer: inout [UInt8]
    ) -> Instant? {
        let now = ContinuousClock.now
        if state.isStopped {
            state.listener = nil
            for index in state.connections.indices {
                state.connections[index].close(reset: false)
            }
        }
        // The first two entries are the signal and the listener, then two for each connection there was.
        for index in state.connections.indices where readiness.count > index * 2 + 3 {
            if !state.connections[index].takeReadiness(readiness, at: index * 2 + 2, now: now, &buffer) {
                state.counts.unreachable += 1
            }
        }
        if readiness.count > 1, readiness.canRead(1) { state.acceptAll(at: now) }
        var next = state.acceptAgainAt
        for index in state.connections.indices {
            if let moment = state.connections[index].deliver(at: now) {
                next = min(next ?? moment, moment)
            }
        }
        state.removeClosed()
        state.addInterests(to: &readiness, signal, now)
        return next
    }
}

extension ProxyLoop.State {
    var snapshot: FaultProxy.Snapshot {
        var counts = counts
        for connection in connections {
            counts.toServer += connection.counts.toServer
            counts.toClient += connection.counts.toClient
        }
        let connections = connections.map {
            FaultProxy.Connection(
                id: $0.id,
                toServer: $0.counts.toServer,
                toClient: $0.counts.toClient,
                stalled: $0.stalled
            )
        }
        return FaultProxy.Snapshot(counts: counts, connections: connections)
    }

    fileprivate mutating func acceptAll(at now: ProxyLoop.Instant) {
        var accepted = 0
        while let client = listener?.accept() {
            accepted += 1
            if admission == .reset {
                client.reset()
                counts.refused += 1
                continue
            }
            guard let server = try? StreamSocket.beginConnecting(to: upstream) else {
                client.reset()
                counts.unreachable += 1
                continue
            }
            counts.accepted += 1
            let id = FaultProxy.ConnectionID(number: counts.accepted)
            // Each direction of each connection draws its own numbers, so that they do not depend on the others'
            // timing.
            let directions = (
                LinkDirection(conditions.toServer, edits: edits.toServer, seed: seed &+ UInt64(id.number) &* 2),
                LinkDirection(conditions.toClient, edits: edits.toClient, seed: seed &+ UInt64(id.number) &* 2 &+ 1)
            )
            connections.append(ProxyConnection(id: id, client: client, server: server, directions: directions))
        }
        acceptAgainAt = accepted == 0 ? now + .milliseconds(10) : nil
    }

    fileprivate mutating func removeClosed() {
        for connection in connections where connection.state == .closed {
            counts.closed += 1
            counts.toServer += connection.counts.toServer
            counts.toClient += connection.counts.toClient
        }
        connections.removeAll { $0.state == .closed }
    }

    fileprivate mutating func addInterests(
        to readiness: inout Readiness,
        _ signal: WakeSignal,
        _ now: ProxyLoop.Instant
    ) {
        if let moment = acceptAgainAt, moment <= now { acceptAgainAt = nil }
        let isAccepting = admission != .ignore && acceptAgainAt == nil
        readiness.removeAll()
        readiness.add(signal.number, .read)
        readiness.add(listener?.number ?? -1, isAccepting ? .read : [])
        for connection in connections {
            connection.addInterests(to: &readiness)
        }
    }
}
