/// The flights that one read has left because of its limits, and that go on.
@usableFromInline
package final class LeftFlights: Sendable {
    private let flights = Locked<[LeftFlight]>([])

    package init() {}

    var all: [LeftFlight] { flights.withLock { $0 } }

    package var isEmpty: Bool { flights.withLock { $0.isEmpty } }

    /// Whether a flight has a key of this hash.
    func has(_ hash: Int) -> Bool { all.contains { $0.flight.hash == hash } }

    /// What tells the flight with a key of this hash from others; of any of them where none has.
    func flight(of hash: Int) -> ObjectIdentifier? {
        let all = all
        return (all.first { $0.flight.hash == hash } ?? all.first).map { ObjectIdentifier($0.flight) }
    }

    /// Takes down those that a level below has left.
    func add(_ others: LeftFlights) {
        let others = others.all
        flights.withLock { $0 += others }
    }

    /// Takes down which flight the read has left, if it has left one.
    package func add(_ limit: WaitLimitReached) {
        if let left = limit.left { flights.withLock { $0.append(left) } }
    }
}

/// A flight that a caller has left.
struct LeftFlight: Sendable {
    let flight: Flight
    /// Whether the caller had begun it.
    let isOwn: Bool
}
