extension BreakerOptions {
    /// Whether the calls of a window are reason to open the breaker.
    func isReason(_ counts: OutcomeWindow.Counts) -> Bool {
        guard counts.total >= max(1, minimumCalls) else { return false }
        let total = Double(counts.total)
        return Double(counts.failed) / total >= max(failureShare, .leastNonzeroMagnitude)
            || Double(counts.slow) / total >= max(slowShare, .leastNonzeroMagnitude)
    }
}
