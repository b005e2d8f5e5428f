internal import Strata

/// The right to keep a value that this process has just written, in the place of the one with which it was fetched.
///
/// It voids every other ticket of the key, also that of the older value which levels above still serve. That must not happen
/// before they are filled, or a key that is asked for all the time would be missing there meanwhile. So it is only promised to
/// those who fill them, and settled by them when they have (``/Strata/FillGate/promise(_:)``). When nobody waits for the value,
/// it is settled at once; if those who wait are slow, when trust is extended for the time in which the write was begun.
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

    /// The new ticket, the same for all who ask; ``/Strata/Ticket/void`` when the key has changed since the old one was taken.
    func take() -> Ticket {
        state.withLock { state in
            switch state {
            case .taken(let ticket): return ticket
            case .open(let old):
                let ticket = gate.promise(old) ?? .void
                state = .taken(ticket)
                return ticket
            }
        }
    }

    /// All other tickets of the key are void from now on.
    func settle() {
        gate.settle(take())
    }
}
