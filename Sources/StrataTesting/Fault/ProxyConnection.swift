/// One connection through the proxy: two sockets and a ``LinkDirection`` for each direction.
///
/// Driven by ``ProxyLoop`` under its lock; never waits.
struct ProxyConnection: Sendable {
    /// One of the two directions, with its ends.
    private struct Flow: Sendable {
        var direction: LinkDirection
        var hasSourceEnded = false
        var isSinkEnded = false
        /// Whether the receiver's kernel took less than was offered.
        var isSinkFull = false
    }

    enum State: Sendable {
        case connecting
        case open
        case closed
    }

    let id: FaultProxy.ConnectionID
    private(set) var state = State.connecting
    private let client: StreamSocket
    private let server: StreamSocket
    private var toServer: Flow
    private var toClient: Flow

    init(
        id: FaultProxy.ConnectionID,
        client: StreamSocket,
        server: StreamSocket,
        directions: (LinkDirection, LinkDirection)
    ) {
        self.id = id
        self.client = client
        self.server = server
        toServer = Flow(direction: directions.0)
        toClient = Flow(direction: directions.1)
    }

    var counts: (toServer: LinkCounts, toClient: LinkCounts) { (toServer.direction.counts, toClient.direction.counts) }

    var stalled: FaultProxy.Directions {
        var directions: FaultProxy.Directions = []
        if toServer.direction.conditions.isStalled { directions.insert(.toServer) }
        if toClient.direction.conditions.isStalled { directions.insert(.toClient) }
        return directions
    }

    mutating func forEachDirection(_ directions: FaultProxy.Directions, _ body: (inout LinkDirection) -> Void) {
        if directions.contains(.toServer) { body(&toServer.direction) }
        if directions.contains(.toClient) { body(&toClient.direction) }
    }

    /// Adds the client's and the server's socket, in this order.
    func addInterests(to readiness: inout Readiness) {
        var ofClient: Readiness.Interest = []
        var ofServer: Readiness.Interest = []
        if state == .connecting {
            ofServer = .write
        } else {
            if toServer.direction.room > 0, !toServer.hasSourceEnded { ofClient.insert(.read) }
            if toClient.direction.room > 0, !toClient.hasSourceEnded { ofServer.insert(.read) }
            if toServer.isSinkFull { ofServer.insert(.write) }
            if toClient.isSinkFull { ofClient.insert(.write) }
        }
        readiness.add(client.number, ofClient)
        readiness.add(server.number, ofServer)
    }

    /// Notes what `poll` reported for the two sockets, and reads what can be read.
    ///
    /// Returns `false` when the server could not be reached.
    mutating func takeReadiness(
        _ readiness: Readiness,
        at index: Int,
        now: LinkDirection.Instant,
        _ buffer: inout [UInt8]
    )
        -> Bool
    {
        switch state {
        case .closed: return true
        case .connecting:
            guard readiness.canWrite(index + 1) else { return true }
            guard server.takeError() == nil else {
                close(reset: true)
                return false
            }
            state = .open
            return true
        case .open:
            if readiness.canWrite(index) { toClient.isSinkFull = false }
            if readiness.canWrite(index + 1) { toServer.isSinkFull = false }
            if readiness.canRead(index) { Self.read(from: client, into: &toServer, now, &buffer) }
            if readiness.canRead(index + 1) { Self.read(from: server, into: &toClient, now, &buffer) }
            return true
        }
    }

    /// Delivers what may be delivered, and returns when there will be more to do without anything new happening.
    mutating func deliver(at now: LinkDirection.Instant) -> LinkDirection.Instant? {
        guard state == .open else { return nil }
        var next: LinkDirection.Instant?
        for result in [
            Self.deliver(&toServer, to: server, at: now),
            Self.deliver(&toClient, to: client, at: now),
        ] {
            switch result {
            case .more(let moment): next = [next, moment].compactMap { $0 }.min()
            case .close(let reset): close(reset: reset)
            }
        }
        if toServer.isSinkEnded, toClient.isSinkEnded { close(reset: false) }
        return state == .open ? next : nil
    }

    mutating func close(reset: Bool) {
        guard state != .closed else { return }
        state = .closed
        for socket in [client, server] {
            if reset {
                socket.reset()
            } else {
                // Best effort for a FIN: what comes after this moment is answered by RST, as by any closed socket.
                socket.discardArrived(upTo: 1 << 20)
                socket.endWriting()
            }
        }
    }

    private static func read(
        from source: StreamSocket,
        into flow: inout Flow,
        _ now: LinkDirection.Instant,
        _ buffer: inout [UInt8]
    ) {
        let limit = min(flow.direction.room, buffer.count)
        guard limit > 0, !flow.hasSourceEnded else { return }
        switch source.receive(into: &buffer, limit: limit) {
        case .bytes(let count): flow.direction.receive(ArraySlice(Array(buffer[..<count])), at: now)
        case .wouldBlock: break
        case .ended:
            flow.hasSourceEnded = true
            flow.direction.receiveEnd(at: now)
        case .failed:
            flow.hasSourceEnded = true
            flow.direction.receiveReset(at: now)
        }
    }

    private enum Delivery {
        case more(at: LinkDirection.Instant?)
        case close(reset: Bool)
    }

    private static func deliver(_ flow: inout Flow, to sink: StreamSocket, at now: LinkDirection.Instant) -> Delivery {
        // The bound keeps a connection that is cut into tiny pieces from holding up control calls.
        for _ in 0..<256 {
            guard !flow.isSinkFull else { return .more(at: nil) }
            switch flow.direction.nextAction(at: now) {
            case .send(let bytes):
                switch sink.send(bytes) {
                case .bytes(let count): flow.direction.sent(count, at: now)
                case .wouldBlock: flow.isSinkFull = true
                case .ended, .failed: return .close(reset: true)
                }
            case .wait(let moment): return .more(at: moment)
            case .idle: return .more(at: nil)
            case .end:
                flow.isSinkEnded = true
                sink.endWriting()
            case .close(let reset): return .close(reset: reset)
            }
        }
        return .more(at: now)
    }
}
