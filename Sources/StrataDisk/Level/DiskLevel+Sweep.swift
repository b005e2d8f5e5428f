#if Disk
internal import Strata

extension DiskLevel {
    /// Removes all expired entries of the namespace, and reports them.
    ///
    /// The level keeps to its limit without this call, which gives room back to other namespaces. Entries that may
    /// still be served while stale stay.
    ///
    /// - Parameter report: Gets the bytes of each key, once it is gone.
    /// - Returns: How many there were.
    /// - Throws: ``DiskError``; `CancellationError`. Entries that were reported by then are gone.
    @discardableResult
    public func removeExpired(_ report: (_ key: [UInt8]) -> Void = { _ in }) async throws -> Int {
        try await counting { try await space.removeExpired(now: wall.now().wall, report) }
    }

    /// Waits for a running sweep, and until the order of use is written.
    public func drain(within limit: Duration) async { await space.background.drain(within: limit) }

    /// Counts an entry that was not kept, and begins a sweep when the namespace is nearly full, or the file is.
    func noteFullness(_ written: DiskSpace.Written, of size: Int) {
        if !written.isKept { counters.add(\.unkept) }
        if written.bytes >= space.sweepsFrom || written.isFileFull { sweep(isFileFull: written.isFileFull) }
    }

    /// Begins a sweep in the background, unless one is running.
    func sweep(isFileFull: Bool = false) {
        space.background.launch(.sweep) { [space, wall, counters, sweeps] in
            do {
                try await space.sweep(now: wall.now().wall, isFileFull: isFileFull) { keys in
                    counters.add(\.swept, keys.count)
                    await sweeps.dropped(keys)
                }
            } catch let error as DiskError {
                // The next write that finds the namespace nearly full begins another.
                counters.add(\.failures)
                throw error
            }
        }
    }
}

/// The observers of what the sweeps of a namespace drop.
final class DiskSweeps: Sendable {
    private let listener = Locked<(@Sendable ([[UInt8]]) async -> Void)?>(nil)

    /// Sets who is told the keys that a sweep has dropped.
    func listen(_ listener: @escaping @Sendable ([[UInt8]]) async -> Void) {
        self.listener.withLock { $0 = listener }
    }

    func dropped(_ keys: [[UInt8]]) async {
        let listener = listener.withLock { $0 }
        await listener?(keys)
    }
}
#endif
