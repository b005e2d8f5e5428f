internal import Strata

/// The right to keep a value that this process has just written, in the place of the one with which it was fetched.
///
/// Taking it over voids every other ticket of the key (``/Strata/FillGate/renew(_:)``), also that of the older value which
/// levels above still serve. So it happens as late as it may, when somebody is about to fill those levels, or a key that is
/// asked for all the time would be missing between the write and the fill. At once it happens when nobody waits for the
/// value; if those who wait are slow, when the link to the server has told of the write and its next ping is answered.
final class TicketRenewal: Sendable {
    private enum State {
        case open(Ticket)
        case taken(Ticket)
    }

    private let gate: FillGate
    private let state: Locked<State>

    init(_ gate: FillGate, of ticket: Ticket) {
        self.gate = gate
        state = Locked(.open(ticket))
    }

    /// The new ticket, the same for all who ask; ``/Strata/Ticket/void`` when the key has changed since the old one was taken.
    func take() -> Ticket {
        state.withLock { state in
            switch state {
            case .taken(let ticket): return ticket
            case .open(let old):
                let ticket = gate.renew(old) ?? .void
                state = .taken(ticket)
                return ticket
            }
        }
    }
}
