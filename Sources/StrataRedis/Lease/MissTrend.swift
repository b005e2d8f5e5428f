internal import Synchronization

/// Whether looking in Redis has found nothing most of the time of late.
///
/// A value that is not there costs a GET and then the script that gives the lease, and the script looks too. Where nearly all
/// looks are in vain, the script is asked at once: a round trip less for what is fetched, and the server runs one command for
/// it and not two. Where values are there it would be the dearer look, so one look that finds something counts as much as
/// four that do not, and eight in vain in a row are needed to begin.
final class MissTrend: Sendable {
    private static let threshold = 8
    private static let most = 16
    private static let weightOfHit = 4

    private let level = Atomic<Int>(0)

    /// Whether the next look will find nothing, most likely.
    var expectsNothing: Bool { level.load(ordering: .relaxed) >= Self.threshold }

    /// Takes down what a look has found.
    ///
    /// Of two at the same instant one may be lost.
    func looked(found: Bool) {
        let old = level.load(ordering: .relaxed)
        let new = found ? max(old - Self.weightOfHit, 0) : min(old + 1, Self.most)
        if new != old { level.store(new, ordering: .relaxed) }
    }
}
