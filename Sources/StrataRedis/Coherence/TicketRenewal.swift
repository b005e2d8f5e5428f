internal import Strata

/// The right to keep a value that this process has just written, in the place of the one with which it was fetched.
///
/// Taking it over voids every other ticket of the key (``/Strata/FillGate/renew(_:)``), also that of the older value which
/// levels above still serve. So it happens as late as it may, when somebody is about to fill those levels, or a key that is
/// asked for all the time would be missing between the write and the fill. At once it happens when nobody waits for the
/// value; if those who wait are slow, when trust is extended for the time in which the write was begun.
final class TicketRenewal: Sendable {
    private enum State {
        case open(Ticket)
        case taken(Ticket)
    }

    /// Before the write was sent.
    let begun: MonotonicInstant
    private let gate: FillGate
    private let state: Locked<State>

    init(_ gate: FillGate, of ticket: Ticket) {
        begun = .now
        self.gate = gate
        state = Locked(.open(ticket))
    }

    /// Whether somebody has taken it.
    var isTaken: Bool { state.withLock { if case .taken = $0 { true } else { false } } }

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
