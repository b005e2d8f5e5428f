extension ReadRequest {
    /// Notes that a level failed, or its condition left it out, and the read goes on.
    package func failed(_ error: any Error, at level: some CacheLevel, since start: MonotonicInstant) {
        guard let recorder else { return }
        recorder.failed(error, at: level.origin ?? EntryOrigin(level.label.kind), from: start)
    }

    /// Takes down that a level was filled, or that it was not, since the key has changed or others fetch it.
    package func filled(_ level: some CacheLevel, isStored: Bool, since start: MonotonicInstant) {
        guard let recorder else { return }
        let origin = level.origin ?? EntryOrigin(level.label.kind)
        recorder.step(isStored ? .stored : .refused, at: origin, from: start, to: .now)
    }
}

extension ReadTraceRecorder {
    /// Adds a step that failed, or that a condition refused.
    package func failed(_ error: any Error, at origin: EntryOrigin, from start: MonotonicInstant) {
        let isExclusion = (error as? CacheError)?.code == .conditionNotSatisfied
        step(isExclusion ? .excluded : .failed, at: origin, from: start, to: .now, error: CacheError.name(of: error))
    }
}

extension CacheError {
    /// The kind of an error, without its text, which may hold what a log must not show.
    package static func name(of error: any Error) -> String {
        (error as? CacheError).map { "\($0.code)" } ?? "\(type(of: error))"
    }
}
