/// When the simulation runs and when it rests.
///
/// Replaying requests in every miniature costs more than all the rest of a hit. While one strategy stays ahead there is
/// little to learn, so after some epochs without a change the simulation rests, longer each time. It resumes when the
/// rest is over, or as soon as the hit ratio of the cache itself has moved; then it waits one epoch, until the old
/// contents of the miniatures have gone, before it counts their hits again.
struct MiniatureSchedule: Sendable {
    private(set) var isResting = false
    /// The miniatures still hold what was asked for before the rest.
    private(set) var isSettling = false
    private var epochsLeft = MiniatureSchedule.watch
    private var rest = MiniatureSchedule.shortestRest
    /// The share of misses while nothing changed, as an average in which older epochs fade.
    private var usual: Float?

    private static var watch: Int { 7 }
    private static var shortestRest: Int { 7 }
    private static var longestRest: Int { 28 }

    /// Notes that another strategy is followed from now on: too early to rest.
    mutating func strategyChanged() {
        epochsLeft = MiniatureSchedule.watch
        rest = MiniatureSchedule.shortestRest
        usual = nil
    }

    /// Starts anew.
    mutating func reset() {
        self = MiniatureSchedule()
    }

    /// Notes the end of an epoch, with the number of misses among its requests.
    mutating func endEpoch(misses: Int, requests: Int) {
        let share = Float(misses) / Float(max(requests, 1))
        let expected = usual ?? share
        let noise = (max(expected * (1 - expected), 0) / Float(max(requests, 1))).squareRoot()
        let hasMoved = (share - expected).magnitude > 0.02 + 4 * noise
        usual = expected + (share - expected) / 4
        isSettling = false
        epochsLeft -= 1
        if isResting {
            guard hasMoved || epochsLeft <= 0 else { return }
            isResting = false
            isSettling = true
            epochsLeft = MiniatureSchedule.watch
            if hasMoved {
                rest = MiniatureSchedule.shortestRest
                usual = nil
            }
        } else if hasMoved {
            epochsLeft = max(epochsLeft, MiniatureSchedule.watch / 2)
            rest = MiniatureSchedule.shortestRest
        } else if epochsLeft <= 0 {
            isResting = true
            epochsLeft = rest
            rest = min(rest * 2, MiniatureSchedule.longestRest)
        }
    }
}
