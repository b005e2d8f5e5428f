extension CacheLevel {
    /// Reads keys so that memory has them before readers ask: at the start of a process, or after an import.
    ///
    /// ```swift
    /// let report = try await products.warm(from: popular)
    /// print("\(report.warmed) products are in memory, \(report.fetched) of them were fetched")
    /// ```
    ///
    /// Call it on the whole cache. Each batch goes down through the levels once: memory, one MGET, and one fetch of
    /// what is missing where the source takes several keys. A key that fails is counted and left out. More keys than
    /// memory can hold push each other out.
    ///
    /// - Parameters:
    ///   - keys: The keys, those in demand first; a key that is named twice is read once.
    ///   - options: The size of the batches, the time limit, and whether the source is asked.
    /// - Returns: The outcome by key. When the time is over, keys that were not read are counted as
    ///   ``WarmingReport/left``; a level that ignores cancellation ends its batches first.
    /// - Throws: `CancellationError` when the caller is cancelled; the keys that were read stay.
    @discardableResult
    public func warm(
        from keys: some Collection<Key>,
        _ options: WarmingOptions = WarmingOptions()
    ) async throws -> WarmingReport {
        var batches = UniqueBatches(keys, size: options.usableBatchSize)
        let request = ReadRequest(leavesOutFailures: true, options: options.reads)
        var report = WarmingReport()
        let end = MonotonicInstant.now.advanced(by: options.limit)
        let isOver = try await withThrowingTaskGroup(of: WarmingReport?.self) { group in
            group.addTask {
                try? await Task.pause(for: max(MonotonicInstant.now.duration(to: end), .zero))
                return nil
            }
            var running = 0
            func start() {
                guard let batch = batches.next() else { return }
                running += 1
                group.addTask { await self.warm(batch, request) }
            }
            for _ in 0..<options.usableConcurrency { start() }
            while running > 0, let outcome = try await group.next() {
                guard let outcome else {
                    // It also ends when the caller is cancelled.
                    group.cancelAll()
                    for try await rest in group { if let rest { report.add(rest) } }
                    return true
                }
                running -= 1
                report.add(outcome)
                start()
            }
            group.cancelAll()
            return false
        }
        try Task.checkCancellation()
        if isOver { report.left += batches.rest }
        return report
    }

    /// Reads one batch.
    ///
    /// A batch that was cancelled is left, whatever it has read.
    private func warm(_ keys: [Key], _ request: ReadRequest) async -> WarmingReport {
        var request = request
        let notes = FailureNotes()
        request.leftOut = notes
        do {
            // A source that must not be asked has no values.
            let entries =
                request.spares(self) ? Array(repeating: nil, count: keys.count) : try await entries(for: keys, request)
            return WarmingReport(entries, of: keys, notes)
        } catch {
            var report = WarmingReport()
            if Task.isCancelled {
                report.left = keys.count
            } else {
                (report.failed, report.failure) = (keys.count, error)
            }
            return report
        }
    }
}

/// A list of keys in batches, each key once.
private struct UniqueBatches<Keys: Collection> where Keys.Element: Hashable {
    private let keys: Keys
    private let size: Int
    private var place: Keys.Index
    private var seen: Set<Keys.Element> = []

    init(_ keys: Keys, size: Int) {
        self.keys = keys
        self.size = size
        place = keys.startIndex
    }

    /// The next batch; `nil` at the end.
    mutating func next() -> [Keys.Element]? {
        var batch: [Keys.Element] = []
        while batch.count < size, place < keys.endIndex {
            let key = keys[place]
            place = keys.index(after: place)
            if seen.insert(key).inserted { batch.append(key) }
        }
        return batch.isEmpty ? nil : batch
    }

    /// How many keys no batch has had.
    var rest: Int { Set(keys[place...]).subtracting(seen).count }
}
