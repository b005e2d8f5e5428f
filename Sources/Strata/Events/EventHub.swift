public import Synchronization

/// Where a level publishes its events, and observers register.
///
/// Without an observer of its kind, an event costs one load and a branch, and is not made.
@usableFromInline
package final class EventHub: Sendable {
    /// Gets an event, on the thread on which it happens; it must not take long.
    package typealias Observer = @Sendable (CacheEvent) -> Void

    private struct Registered: Sendable {
        let id: UInt64
        let kinds: UInt32
        let observer: Observer
    }

    /// The kinds that observers want, one bit each.
    @usableFromInline
    let wanted = Atomic<UInt32>(0)
    private let registered = Locked<[Registered]>([])
    private let lastID = Atomic<UInt64>(0)

    package init() {}

    /// Whether an observer wants events of a kind.
    @inlinable
    @inline(__always)
    package func wants(_ kind: CacheEvent.Kind) -> Bool { wanted.load(ordering: .relaxed) & kind.bit != 0 }

    /// Whether an observer wants to know what reads find.
    @inlinable
    @inline(__always)
    package var wantsReads: Bool {
        wanted.load(ordering: .relaxed) & (CacheEvent.Kind.hit.bit | CacheEvent.Kind.miss.bit) != 0
    }

    /// Tells the observers, if one wants the kind; otherwise the event is not made.
    @inlinable
    @inline(__always)
    package func tell(_ kind: CacheEvent.Kind, _ event: (CacheEvent.Kind) -> CacheEvent) {
        if wants(kind) { tell(event(kind)) }
    }

    /// Tells the observers that want it.
    @usableFromInline
    @inline(never)
    package func tell(_ event: CacheEvent) {
        let observers = registered.withLock { $0.filter { $0.kinds & event.kind.bit != 0 } }
        for next in observers { next.observer(event) }
    }

    /// Adds an observer, until it is removed.
    package func add(_ kinds: Set<CacheEvent.Kind>, _ observer: @escaping Observer) -> UInt64 {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let bits = kinds.reduce(0) { $0 | $1.bit }
        registered.withLock { registered in
            registered.append(Registered(id: id, kinds: bits, observer: observer))
            note(registered)
        }
        return id
    }

    /// Removes an observer.
    package func remove(_ id: UInt64) {
        // Its closure may hold objects of the user's, which must not be released under the lock.
        let gone = registered.withLock { registered in
            let gone = registered.first { $0.id == id }
            registered.removeAll { $0.id == id }
            note(registered)
            return gone
        }
        withExtendedLifetime(gone) {}
    }

    private func note(_ registered: [Registered]) {
        wanted.store(registered.reduce(0) { $0 | $1.kinds }, ordering: .relaxed)
    }
}

extension EventHub: Hashable {
    /// Whether both are the same object.
    @usableFromInline
    package static func == (left: EventHub, right: EventHub) -> Bool { left === right }

    @usableFromInline
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
