internal import Strata

/// How long to wait before connecting again.
///
/// Full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015): anything from nothing to a bound that
/// doubles with each failed attempt. Wrong credentials, certificates and servers do not mend by themselves and wait for
/// at least half the upper bound, unless other credentials have come to be in force meanwhile.
enum ReconnectDelay {
    static func next(
        _ range: ClosedRange<Int64>,
        failures: Int,
        _ error: RedisError,
        loginIsOutdated: Bool = false,
        using random: inout SplitMix64
    ) -> Int64 {
        if loginIsOutdated, error.code == .authentication { return 0 }
        guard !error.isOfConfiguration else {
            return Int64.random(in: range.upperBound / 2...range.upperBound, using: &random)
        }
        let (doubled, overflow) = range.lowerBound.multipliedReportingOverflow(by: 1 << min(failures, 30))
        return Int64.random(in: 0...(overflow ? range.upperBound : min(range.upperBound, doubled)), using: &random)
    }
}
