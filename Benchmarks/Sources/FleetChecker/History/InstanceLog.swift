/// The pen of one instance: what it reads, writes, invalidates and fetches goes through here into the history.
///
/// Each operation exists as a wrapper that times a closure, and in parts for callers that need to do more between.
/// Times are taken outside the operation, so what is recorded always contains what happened.
public struct InstanceLog: Sendable {
    /// The recorder of the process.
    public let recorder: HistoryRecorder
    /// The instance's number.
    public let number: UInt16

    /// Marks the instance's start; its stop is marked by ``OngoingEvent/end()``, or never if it is killed.
    public func begin() -> OngoingEvent {
        recorder.begin(.instance, instance: number, key: 0)
    }

    /// Records a fault of this instance alone that was noticed when it was over.
    ///
    /// - Parameters:
    ///   - label: What it was, at most 8 ASCII characters, the rest is cut off.
    ///   - start: When it began, on ``HistoryClock``.
    public func recordFault(_ label: String, since start: UInt64) {
        let now = HistoryClock.now()
        recorder.record(
            HistoryEvent(
                .fault,
                .done,
                instance: UInt32(number),
                key: 1,
                start: start,
                end: now,
                version: FaultLabel.pack(label)
            )
        )
    }

    // MARK: Reads

    /// Reads through the cache and records what came.
    ///
    /// - Parameters:
    ///   - key: The key asked for.
    ///   - body: The read; nil means that the cache says the source has no value.
    /// - Throws: What `body` throws, after the failure is recorded.
    /// - Returns: What `body` returns.
    public func get(_ key: Int, _ body: () async throws -> VersionedValue?) async rethrows -> VersionedValue? {
        try await read(key) { Reading(try await body()) }.value
    }

    /// Reads through the cache and records what came, with what its trace says.
    ///
    /// - Parameters:
    ///   - key: The key asked for.
    ///   - body: The read.
    /// - Throws: What `body` throws, after the failure is recorded.
    /// - Returns: What `body` returns.
    public func read(_ key: Int, _ body: () async throws -> Reading) async rethrows -> Reading {
        let start = HistoryClock.now()
        do {
            let reading = try await body()
            got(key, since: start, reading)
            return reading
        } catch {
            failed(key, since: start)
            throw error
        }
    }

    /// Records a read that ends now.
    ///
    /// - Parameters:
    ///   - key: The key asked for.
    ///   - start: ``HistoryClock/now()`` before the read.
    ///   - reading: What came.
    public func got(_ key: Int, since start: UInt64, _ reading: Reading) {
        let end = HistoryClock.now()
        guard let value = reading.value else {
            return append(key, .absent, since: start, until: end, version: 0, reading)
        }
        guard recorder.run.isGenuine(value) else {
            return append(key, .forged, since: start, until: end, version: value.version, reading)
        }
        guard value.key == key else {
            let seen = UInt64(value.key) << 32 | value.version & 0xFFFF_FFFF
            return append(key, .stranger, since: start, until: end, version: seen, reading)
        }
        append(key, .value, since: start, until: end, version: value.version, reading)
    }

    /// Records a read that ends now and found nothing, in levels that cannot fetch.
    ///
    /// It proves nothing and is only counted.
    ///
    /// - Parameters:
    ///   - key: The key asked for.
    ///   - start: ``HistoryClock/now()`` before the read.
    public func missed(_ key: Int, since start: UInt64) {
        append(key, .miss, since: start, until: HistoryClock.now(), version: 0, Reading(nil))
    }

    /// Records a read that fails now.
    ///
    /// - Parameters:
    ///   - key: The key asked for.
    ///   - start: ``HistoryClock/now()`` before the read.
    ///   - marks: What is known of the read all the same.
    public func failed(_ key: Int, since start: UInt64, marks: ReadMarks = []) {
        append(key, .failed, since: start, until: HistoryClock.now(), version: 0, Reading(nil, marks: marks))
    }

    private func append(
        _ key: Int,
        _ outcome: HistoryEvent.Outcome,
        since start: UInt64,
        until end: UInt64,
        version: UInt64,
        _ reading: Reading
    ) {
        guard let key = known(key) else { return recorder.spool.drop() }
        let event = HistoryEvent(
            .get,
            outcome,
            instance: UInt32(number),
            key: key,
            start: start,
            end: end,
            version: version,
            level: reading.level,
            marks: reading.marks
        )
        recorder.spool.append(HistoryRecord(event))
    }

    private func known(_ key: Int) -> UInt32? {
        key >= 0 && key < recorder.run.keyCount ? UInt32(key) : nil
    }
}
