internal import Strata

/// Has a server remember what the connections of a client read, and tell a link when one of these keys changes.
///
/// The server forgets with the connection, and says nothing about that. So memory has to know of each loss, and must
/// not rely on a connection from which nothing has come for a while: it may be gone at the other end. A connection is
/// relied on from its first tracked read until it has answered that it is tracked no longer; see `Models/tracking.pml`.
///
/// All calls come on the I/O thread.
final class ReadTracking: Sendable {
    private struct Line: Sendable {
        /// Whether levels may keep what only this connection is told of.
        var isRelied = false
        /// When the latest command was sent that was answered: the server knew the connection then.
        var proof = MonotonicInstant.distantPast
    }

    private struct State: Sendable {
        /// The link that is to be told.
        var target: Int64?
        var lines: [Line]
        var losses: UInt64 = 0
        var news: UInt64 = 0
    }

    private let connections: [Connection]
    /// How long a command may take, in nanoseconds.
    private let timeout: Int64
    private let state: Locked<State>

    init(_ connections: [Connection], timeout: Duration) {
        self.connections = connections
        self.timeout = timeout.saturatedNanoseconds
        state = Locked(State(lines: Array(repeating: Line(), count: connections.count)))
    }

    // MARK: The links

    /// The number of the link that is to be told; `nil` for none.
    var target: Int64? { state.withLock { $0.target } }

    /// Changes when there may be something to find out.
    var news: UInt64 { state.withLock { $0.news } }

    /// How many connections were lost on which memory relied.
    var losses: UInt64 { state.withLock { $0.losses } }

    /// Whether a connection is relied on.
    var isRelied: Bool { state.withLock { $0.lines.contains { $0.isRelied } } }

    /// Everything that was changed before this instant at the server has been told, as far as connections are
    /// concerned.
    var certain: MonotonicInstant {
        state.withLock { state in
            state.lines.reduce(.distantFuture) { $1.isRelied ? min($0, $1.proof) : $0 }
        }
    }

    /// Has another link told from now on; `nil` ends the tracking.
    ///
    /// Connections that do not stand ask when they open. ``isComplete(for:)`` says when all others have answered.
    func point(to target: Int64?, now: MonotonicInstant) {
        state.withLock { $0.target = target }
        for index in connections.indices {
            let stands = connections[index]
                .withMachine { machine in
                    machine.tracking.target = target
                    return machine.phase == .ready
                }
            if stands { ask(index, now: now) }
        }
    }

    /// Whether all connections that take calls are tracked for a link.
    func isComplete(for link: Int64) -> Bool {
        guard target == link else { return false }
        return connections.allSatisfy { connection in
            connection.withMachine { machine in
                switch machine.phase {
                case .handshaking: false
                case .ready: machine.tracking.confirmed == link
                // Another asks when it opens, before it takes a call.
                case .idle, .opening, .waiting, .closed: true
                }
            }
        }
    }

    /// Whether a connection that takes calls was refused to be tracked for a link: its reads are in no table.
    func isRefused(for link: Int64) -> Bool {
        connections.contains { connection in
            connection.withMachine { machine in
                machine.phase == .ready && machine.tracking.confirmed != link && machine.tracking.refusal != nil
            }
        }
    }

    /// Why the server does not track a connection, if it was asked and refused for good.
    var refusal: String? {
        for connection in connections {
            guard let text = connection.withMachine({ $0.tracking.refusal }) else { continue }
            // The link that was named is gone; the next one is named anew.
            if !text.contains("does not exist") { return text }
        }
        return nil
    }

    /// Asks all tracked connections for a sign that the server knows them.
    func ping(now: MonotonicInstant) {
        let relied = state.withLock { state in state.lines.indices.filter { state.lines[$0].isRelied } }
        for index in relied {
            connections[index]
                .post(deadline: now.advanced(byNanoseconds: timeout), expecting: .status) { [self] outcome in
                    guard case .success = outcome else { return }
                    state.withLock { $0.lines[index].proof = max($0.lines[index].proof, now) }
                } encode: { writer in
                    writer.begin(1)
                    writer.argument("PING" as StaticString)
                }
        }
    }

    // MARK: The connections

    /// A connection is opened: its handshake is about to be sent.
    func opens(_ connection: Connection, now: MonotonicInstant) {
        guard let index = place(of: connection) else { return }
        state.withLock { $0.lines[index].proof = now }
    }

    /// A connection stands.
    func stands(_ connection: Connection, now: MonotonicInstant) {
        guard let index = place(of: connection) else { return }
        let confirmed = connection.withMachine { $0.tracking.confirmed }
        let target = state.withLock { state in
            if confirmed != nil { state.lines[index].isRelied = true }
            state.news += 1
            return state.target
        }
        // Another link was named while it opened.
        if confirmed != target { ask(index, now: now) }
    }

    /// A connection is lost.
    func lost(_ connection: Connection) {
        guard let index = place(of: connection) else { return }
        state.withLock { state in
            state.news += 1
            guard state.lines[index].isRelied else { return }
            state.lines[index] = Line()
            state.losses += 1
        }
    }

    private func place(of connection: Connection) -> Int? { connections.firstIndex { $0 === connection } }

    private func ask(_ index: Int, now: MonotonicInstant) {
        let connection = connections[index]
        let target = state.withLock { $0.target }
        // From its first tracked read on, which may come before the answer.
        if target != nil {
            state.withLock { state in
                if !state.lines[index].isRelied { state.lines[index] = Line(isRelied: true, proof: now) }
            }
        }
        connection.post(deadline: now.advanced(byNanoseconds: timeout), expecting: .status) { [self] outcome in
            // What was lost with its connection is asked for again when the next one opens.
            let reply = try? outcome.get()
            if let reply { connection.withMachine { $0.tracking.answered(by: reply, to: target) } }
            state.withLock { state in
                if case .status = reply { state.lines[index].isRelied = target != nil }
                state.news += 1
            }
        } encode: { writer in
            Handshake.encodeTracking(for: target, into: &writer)
        }
    }
}
