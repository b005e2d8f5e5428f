#if Configuration
internal import Strata

extension RetryPolicy {
    static let settings: [Setting<RetryPolicy>] = [
        .integer("times", \.times, 0...Int.max),
        .duration("delay", \.delay, .zero),
        .number("factor", \.factor, 1...1_000_000),
        .duration("longestDelay", \.longestDelay, .zero),
        .number("jitter", \.jitter, 0...1),
    ]
}
#endif
