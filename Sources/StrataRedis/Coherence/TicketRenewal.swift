internal import Strata

/// The right to keep a value that this process has just written, in the place of the ticket with which it was fetched.
///
/// The new ticket voids every other ticket of the key, also that of the older value that levels above still serve. If
/// that happened before these levels are filled, a key in demand would be missing there meanwhile. So the ticket is
/// only prepared, and the caller that fills the levels commits it afterwards (``/Strata/FillGate/prepare(_:for:)``).
/// Without a waiting caller it is committed at once. If the callers leave or are slow, the link commits it before it
/// extends trust past the start of the write. Without a link the ticket is not prepared but renewed at once.
final class TicketRenewal: Sendable {
    fileprivate enum State {
        case open(Ticket)
        case taken(Ticket)
    }

    private let begun: MonotonicInstant
    private let coherence: KeyspaceCoherence
    let fingerprint: UInt64
    private let state: Locked<State>

    init(_ coherence: KeyspaceCoherence, of ticket: Ticket, for fingerprint: UInt64) {
        begun = .now
        self.coherence = coherence
        self.fingerprint = fingerprint
        state = Locked(.open(ticket))
    }

    /// The new ticket, the same for all callers; ``/Strata/Ticket/void`` when the key has changed since the old one was
    /// taken.
    func take() -> Ticket {
        let (ticket, isPrepared) = state.withLock { state in
            guard case .open(let old) = state else { return (state.ticket, false) }
            let (gate, isTold) = (coherence.gate, coherence.isTold(fingerprint))
            let ticket = isTold ? gate.prepare(old, for: fingerprint) : gate.renew(old, for: fingerprint)
            state = .taken(ticket ?? .void)
            return (ticket ?? .void, isTold)
        }
        if isPrepared, ticket != .void { coherence.prepare(PreparedTicket(ticket, for: fingerprint, begun: begun)) }
        return ticket
    }

    /// Voids all other tickets of the key.
    func commit() {
        coherence.gate.commit(take(), for: fingerprint)
    }
}

/// A new ticket that is to be committed.
struct PreparedTicket: Sendable {
    let ticket: Ticket
    let fingerprint: UInt64
    /// Before the write was sent.
    let begun: MonotonicInstant

    init(_ ticket: Ticket, for fingerprint: UInt64, begun: MonotonicInstant) {
        self.ticket = ticket
        self.fingerprint = fingerprint
        self.begun = begun
    }
}

extension TicketRenewal.State {
    fileprivate var ticket: Ticket {
        switch self {
        case .open(let ticket), .taken(let ticket): ticket
        }
    }
}
