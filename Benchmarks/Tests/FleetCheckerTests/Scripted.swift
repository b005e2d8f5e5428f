import FleetChecker

/// Events of made-up histories, as short as the stories they tell.
///
/// Times are in nanoseconds and begin at 1.
enum Scripted {
    /// Version 2 is written, and its invalidation by instance 9 returns at 50.
    static let change = [write(2, 10...20), invalidate(2, 30...50)]

    static func get(
        _ version: UInt64,
        key: UInt32 = 0,
        by instance: UInt32,
        _ times: ClosedRange<UInt64>,
        from level: ReadLevel = .memory,
        marks: ReadMarks = [],
        outcome: HistoryEvent.Outcome? = nil
    ) -> HistoryEvent {
        HistoryEvent(
            .get,
            outcome ?? (version == 0 ? .absent : .value),
            instance: instance,
            key: key,
            start: times.lowerBound,
            end: times.upperBound,
            version: version,
            level: level,
            marks: marks
        )
    }

    static func write(_ version: UInt64, key: UInt32 = 0, by instance: UInt32 = 9, _ times: ClosedRange<UInt64>)
        -> HistoryEvent
    {
        ended(.write, .value, version, key, instance, times)
    }

    /// A write whose process was killed before it could say which version it made.
    static func killedWrite(key: UInt32 = 0, by instance: UInt32 = 9, _ start: UInt64) -> HistoryEvent {
        HistoryEvent(.write, .open, instance: instance, key: key, start: start, end: 0)
    }

    static func invalidate(
        _ version: UInt64 = 0,
        key: UInt32 = 0,
        by instance: UInt32 = 9,
        _ times: ClosedRange<UInt64>,
        _ outcome: HistoryEvent.Outcome = .done
    ) -> HistoryEvent {
        ended(.invalidateKey, outcome, version, key, instance, times)
    }

    static func invalidate(tag: UInt32, by instance: UInt32 = 9, _ times: ClosedRange<UInt64>) -> HistoryEvent {
        ended(.invalidateTag, .done, 0, tag, instance, times)
    }

    static func invalidateAll(by instance: UInt32 = 9, _ times: ClosedRange<UInt64>) -> HistoryEvent {
        ended(.invalidateAll, .done, 0, 0, instance, times)
    }

    static func set(_ version: UInt64, key: UInt32 = 0, by instance: UInt32 = 9, _ times: ClosedRange<UInt64>)
        -> HistoryEvent
    {
        ended(.set, .done, version, key, instance, times)
    }

    static func killedInvalidation(key: UInt32 = 0, by instance: UInt32 = 9, _ start: UInt64) -> HistoryEvent {
        HistoryEvent(.invalidateKey, .open, instance: instance, key: key, start: start, end: 0)
    }

    static func fetch(
        _ version: UInt64,
        key: UInt32 = 0,
        by instance: UInt32,
        _ times: ClosedRange<UInt64>,
        _ outcome: HistoryEvent.Outcome = .value
    ) -> HistoryEvent {
        ended(.fetch, outcome, version, key, instance, times)
    }

    static func killedFetch(key: UInt32 = 0, by instance: UInt32, _ start: UInt64) -> HistoryEvent {
        HistoryEvent(.fetch, .open, instance: instance, key: key, start: start, end: 0)
    }

    static func fault(_ times: ClosedRange<UInt64>, _ label: String = "") -> HistoryEvent {
        ended(.fault, .done, FaultLabel.pack(label), 0, 0, times)
    }

    /// A fault of one instance alone.
    static func fault(of instance: UInt32, _ times: ClosedRange<UInt64>, _ label: String) -> HistoryEvent {
        ended(.fault, .done, FaultLabel.pack(label), 1, instance, times)
    }

    private static func ended(
        _ kind: HistoryEvent.Kind,
        _ outcome: HistoryEvent.Outcome,
        _ version: UInt64,
        _ key: UInt32,
        _ instance: UInt32,
        _ times: ClosedRange<UInt64>
    ) -> HistoryEvent {
        HistoryEvent(
            kind,
            outcome,
            instance: instance,
            key: key,
            start: times.lowerBound,
            end: times.upperBound,
            version: version
        )
    }

    /// Checks a made-up history with a bound of 100 ns for the fleet and none for own invalidations.
    static func check(
        keys: Int = 4,
        initialVersion: UInt64 = 1,
        _ events: [HistoryEvent],
        _ adjust: (inout StalenessChecker) -> Void = { _ in }
    ) throws -> StalenessReport {
        var checker = StalenessChecker(
            bounds: StalenessBounds(normal: StalenessBound(fleet: .nanoseconds(100), own: .zero))
        )
        adjust(&checker)
        let run = try VersionedRun(keyCount: keys, seed: 1, initialVersion: initialVersion)
        return try checker.check(History(run: run, events: events))
    }
}
