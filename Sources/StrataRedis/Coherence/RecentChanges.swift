internal import Strata

/// When the keys of a keyspace were last changed, as far as this instance knows.
///
/// A replica may lack the latest changes. One that this instance has made or was told of must not be undone by a read,
/// so the replica has to have everything from before it. Keys share rows, so that the memory is bounded: a key may
/// count as changed that is not, and never the other way round.
final class RecentChanges: Sendable {
    /// 8 bytes each.
    static let rows = 1_024

    private struct State {
        var instants = [MonotonicInstant](repeating: .distantPast, count: RecentChanges.rows)
        var all = MonotonicInstant.distantPast
    }

    /// How long an own change may take.
    private let margin: Duration
    private let state = Locked(State())

    init(margin: Duration) { self.margin = margin }

    /// The low bits name the part.
    private static func row(_ fingerprint: UInt64) -> Int { Int(truncatingIfNeeded: fingerprint >> 16) & (rows - 1) }

    /// This instance begins to change a key: it counts as changed until the change has ended in any case.
    func begins(_ fingerprint: UInt64, at now: MonotonicInstant = .now) { note(fingerprint, now.advanced(by: margin)) }

    /// A change of a key was told.
    func heard(_ fingerprint: UInt64, at now: MonotonicInstant = .now) { note(fingerprint, now) }

    /// A change of everything was told.
    func heardOfAll(at now: MonotonicInstant = .now) { state.withLock { $0.all = max($0.all, now) } }

    /// When a key was changed last.
    func last(of fingerprint: UInt64) -> MonotonicInstant {
        state.withLock { max($0.all, $0.instants[Self.row(fingerprint)]) }
    }

    private func note(_ fingerprint: UInt64, _ instant: MonotonicInstant) {
        let row = Self.row(fingerprint)
        state.withLock { $0.instants[row] = max($0.instants[row], instant) }
    }
}
