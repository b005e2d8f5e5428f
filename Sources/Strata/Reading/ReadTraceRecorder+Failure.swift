extension ReadTraceRecorder {
    /// Adds a step that failed, or that a condition refused.
    package func failed(_ error: any Error, at origin: EntryOrigin, from start: MonotonicInstant) {
        let isExclusion = (error as? CacheError)?.code == .conditionNotSatisfied
        step(
            isExclusion ? .excluded : .failed,
            at: origin,
            from: start,
            to: .now,
            error: CacheError.name(of: error),
            reason: ReadTrace.Reason(error)
        )
    }

    /// Adds that the source was not asked, because it has failed a moment ago.
    package func backedOff(_ error: any Error, since start: MonotonicInstant) {
        step(.failed, at: .source, from: start, to: .now, error: CacheError.name(of: error), reason: .backOff)
    }
}
