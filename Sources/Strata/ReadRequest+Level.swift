extension ReadRequest {
    /// Whether a level must not be asked, since it is a source and the read has no use for one.
    package func spares(_ level: some CacheLevel) -> Bool { options.source == .never && level.isFetcher }

    /// Whether the options of the read leave out a level.
    ///
    /// A level that stores values asks that itself, since it may be the lowest.
    @usableFromInline
    package func skipsReading(_ level: some CacheLevel) -> Bool {
        !options.skipsReading.isEmpty && level.origin.map { options.skipsReading.contains($0) } ?? false
    }

    /// The same request by a level that may have no source of its own: then it must not ask one, unless the call has
    /// brought one.
    ///
    /// - Throws: ``CacheError/Code/miss`` for a refresh, which has nothing to ask then.
    package func sourced(by level: some CacheLevel) throws -> ReadRequest {
        guard options.source != .never, callSource == nil, level.lacksSource else { return self }
        // An empty answer would mean that there is no value any more.
        if case .refresh = purpose { throw CacheError.missing }
        var request = self
        request.options.source = .never
        return request
    }

    /// Notes that a level failed, or its condition left it out, and the read goes on.
    package func failed(_ error: any Error, at level: some CacheLevel, since start: MonotonicInstant) {
        guard let recorder else { return }
        recorder.failed(error, at: level.place, from: start)
    }

    /// Notes that a level was filled, or why it was not.
    package func filled(_ level: some CacheLevel, refusal: ReadTrace.Reason?, since start: MonotonicInstant) {
        guard let recorder else { return }
        recorder.step(refusal == nil ? .stored : .refused, at: level.place, from: start, to: .now, reason: refusal)
    }

    /// Notes that the options of the read leave a level out.
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

extension CacheLevel {
    /// The name of the level in read traces.
    package var place: EntryOrigin { origin ?? EntryOrigin(label.kind) }
}
