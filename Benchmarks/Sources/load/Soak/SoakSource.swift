import FleetChecker
import StrataTesting
import Synchronization

/// The source below the cache as services know them: mostly quick, at times slow or failing.
///
/// Slow *after* the version was read: the answer is old before it arrives, which is what tickets and leases are for.
final class SoakSource: Sendable {
    struct Failure: Error {}

    /// How long a fetch may take, with what a loaded machine adds.
    static let longestFetch: Duration = .seconds(5)

    let versions: VersionedSource

    init(_ settings: SoakSettings, seed: UInt64) throws {
        let random = HookRandom(seed: seed)
        let slow = SoakRoom.slow.keys(settings)
        versions = try VersionedSource(opening: settings.sourcePath) { key, step in
            switch step {
            case .beforeRead:
                if random.next() < 0.003 { throw Failure() }
                try await Task.rest(for: .microseconds(Int(random.next() * 3_000)))
            case .afterRead:
                try await Task.rest(
                    for: slow.contains(key) && random.next() < 0.3 ? random.longDelay() : random.delay()
                )
            }
        }
    }
}

/// Random numbers for all fetches of a process.
private final class HookRandom: Sendable {
    private let generator: Mutex<SeededGenerator>

    init(seed: UInt64) {
        generator = Mutex(SeededGenerator(seed: seed))
    }

    func next() -> Double {
        generator.withLock { Double.random(in: 0..<1, using: &$0) }
    }

    /// Longer than the others want to wait, and shorter than a lease can be renewed.
    func longDelay() -> Duration { .milliseconds(2_500 + Int(next() * 1_500)) }

    /// How long an answer is on its way: longer than a lease once in a thousand times.
    func delay() -> Duration {
        let share = next()
        return switch next() {
        case ..<0.001: .milliseconds(2_200 + Int(share * 1_500))
        case ..<0.02: .milliseconds(100 + Int(share * 300))
        case ..<0.15: .milliseconds(5 + Int(share * 35))
        default: .microseconds(Int(share * 5_000))
        }
    }
}
