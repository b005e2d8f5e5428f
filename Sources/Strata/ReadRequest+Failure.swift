extension ReadRequest {
    /// Notes that a level failed, or its condition left it out, and the read goes on.
    package func failed(_ error: any Error, at level: some CacheLevel, since start: MonotonicInstant) {
        guard let recorder else { return }
        recorder.failed(error, at: level.place, from: start)
    }

    /// Takes down that a level was filled, or why it was not.
    package func filled(_ level: some CacheLevel, refusal: ReadTrace.Reason?, since start: MonotonicInstant) {
        guard let recorder else { return }
        recorder.step(refusal == nil ? .stored : .refused, at: level.place, from: start, to: .now, reason: refusal)
    }

    /// Takes down that the options of the read leave a level out.
    @usableFromInline
    package func skipped(_ level: some CacheLevel) {
        guard let recorder else { return }
        let now = MonotonicInstant.now
        recorder.step(.skipped, at: level.place, from: now, to: now, reason: .skipped)
    }

    /// The same for each key of a batch.
    ///
    /// - Returns: Nothing for each key.
    @usableFromInline
    package func skipped<Level: CacheLevel>(_ level: Level, for keys: [Level.Key]) -> [Entry<Level.Value>?] {
        for key in keys { of(key).skipped(level) }
        return Array(repeating: nil, count: keys.count)
    }
}

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
}

extension ReadTraceRecorder {
    /// Adds that the source was not asked, because it has failed a moment ago.
    package func backedOff(_ error: any Error, since start: MonotonicInstant) {
        step(.failed, at: .source, from: start, to: .now, error: CacheError.name(of: error), reason: .backOff)
    }
}

extension CacheError {
    /// The kind of an error, without its text, which may hold what a log must not show.
    package static func name(of error: any Error) -> String {
        (error as? any CodedError)?.codeName ?? "\(type(of: error))"
    }
}

extension CacheLevel {
    /// What the level is called in accounts of reads.
    package var place: EntryOrigin { origin ?? EntryOrigin(label.kind) }
}
