internal import Strata

/// The right to keep a value that this process has just written, in the place of the one with which it was fetched.
///
/// It voids every other ticket of the key, also that of the older value which levels above still serve. That must not happen
/// before they are filled, or a key that is asked for all the time would be missing there meanwhile. So it is only promised to
/// those who fill them, and settled by them when they have (``/Strata/FillGate/promise(_:for:)``). When nobody waits for the
/// value it is settled at once. If those who wait leave or are slow, the link settles it, before it extends trust for the time
/// in which the write was begun. Without a link nobody would, so then nothing is promised.
final class TicketRenewal: Sendable {
    fileprivate enum State {
        case open(Ticket)
        case taken(Ticket)
    }

    /// Before the write was sent.
    let begun: MonotonicInstant
    private let coherence: KeyspaceCoherence
    let fingerprint: UInt64
    private let state: Locked<State>

    init(_ coherence: KeyspaceCoherence, of ticket: Ticket, for fingerprint: UInt64) {
        begun = .now
        self.coherence = coherence
        self.fingerprint = fingerprint
        state = Locked(.open(ticket))
    }

    /// The new ticket, the same for all who ask; ``/Strata/Ticket/void`` when the key has changed since the old one was taken.
    func take() -> Ticket {
        let (ticket, isNew) = state.withLock { state in
            guard case .open(let old) = state else { return (state.ticket, false) }
            let gate = coherence.gate
            let ticket =
                coherence.isTold(fingerprint)
                ? gate.promise(old, for: fingerprint) : gate.renew(old, for: fingerprint)
            state = .taken(ticket ?? .void)
            return (ticket ?? .void, true)
        }
        if isNew, ticket != .void { coherence.promise(self) }
        return ticket
    }

    /// All other tickets of the key are void from now on.
    func settle() {
        coherence.gate.settle(take(), for: fingerprint)
    }
}

extension TicketRenewal.State {
    fileprivate var ticket: Ticket {
        switch self {
        case .open(let ticket), .taken(let ticket): ticket
        }
    }
}
