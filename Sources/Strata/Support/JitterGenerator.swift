internal import Synchronization

/// What jitter is drawn from where each read draws: one ``SplitMix64`` that all tasks of the process share.
///
/// The system's own generator takes a system call for each number. Never for tokens, nor for what has to be unique in a
/// fleet.
struct JitterGenerator: RandomNumberGenerator {
    private static let state = Atomic<UInt64>(.random(in: 0 ... .max))

    func next() -> UInt64 {
        SplitMix64.mix(Self.state.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue)
    }
}
