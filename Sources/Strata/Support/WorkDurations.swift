internal import Synchronization

/// Tells listeners how long a piece of work took that waits for something outside this process.
///
/// Without a listener, telling costs one load and a branch.
package final class WorkDurations: Sendable {
    /// A piece of work.
    package enum Work: Sendable, Hashable {
        /// A fetch from the source.
        case fetch
        /// A wait for another process that fetches.
        case wait
        /// A call of a server, by what it is for.
        case call(String)
    }

    /// Gets the work, its nanoseconds, and the name of the error with which it ended.
    ///
    /// It must not take long.
    package typealias Listener = @Sendable (Work, Int64, String?) -> Void

    private let isHeard = Atomic<Bool>(false)
    private let listeners = Locked<[(id: UInt64, listener: Listener)]>([])
    private let lastID = Atomic<UInt64>(0)

    package init() {}

    /// Adds a listener, until it is removed.
    package func add(_ listener: @escaping Listener) -> UInt64 {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        listeners.withLock { listeners in
            listeners.append((id, listener))
            isHeard.store(true, ordering: .relaxed)
        }
        return id
    }

    /// Removes a listener.
    package func remove(_ id: UInt64) {
        // Its closure may hold objects of the user's, which must not be released under the lock.
        let gone = listeners.withLock { listeners in
            let gone = listeners.first { $0.id == id }
            listeners.removeAll { $0.id == id }
            isHeard.store(!listeners.isEmpty, ordering: .relaxed)
            return gone
        }
        withExtendedLifetime(gone) {}
    }

    /// Tells the listeners.
    ///
    /// - Parameters:
    ///   - work: What has ended.
    ///   - nanoseconds: How long it took.
    ///   - error: The name of the error; not asked for when there is no listener.
    @inline(__always)
    package func tell(_ work: Work, _ nanoseconds: Int64, error: @autoclosure () -> String? = nil) {
        guard isHeard.load(ordering: .relaxed) else { return }
        tellListeners(work, nanoseconds, error())
    }

    @inline(never)
    private func tellListeners(_ work: Work, _ nanoseconds: Int64, _ error: String?) {
        for (_, listener) in listeners.withLock({ $0 }) { listener(work, nanoseconds, error) }
    }
}

extension WorkDurations: Hashable {
    /// Whether both are the same object.
    package static func == (left: WorkDurations, right: WorkDurations) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
