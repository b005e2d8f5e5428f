#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Records what the instances of one process do, into a file of its own, for ``StalenessChecker`` to judge.
///
/// Any number of tasks may record at once without a lock: an event is 32 bytes, stored straight into mapped pages of
/// the file, in some tens of nanoseconds. Nothing is buffered, so a killed process loses nothing but the ends
/// of the operations that it was in; the check knows what such an operation proves and what it does not.
///
/// ```swift
/// let recorder = try HistoryRecorder(creating: "\(folder)/\(getpid()).history", run: source.run)
/// let log = recorder.instance(3)
/// let product = try await log.get(key) { try await cache.get(key) }
/// ```
public final class HistoryRecorder: Sendable {
    /// How large a file may grow if nothing else is said: 16 GiB, or half a thousand million events.
    public static let defaultSizeLimit = 16 << 30

    /// The run whose keys and values are recorded.
    public let run: VersionedRun
    /// The file.
    public let path: String

    let spool: RecordSpool

    /// Creates the file of this process.
    ///
    /// - Parameters:
    ///   - path: Where; nothing may be there yet. Give every process, also a restarted one, its own.
    ///   - run: The run, as ``VersionedSource/run`` has it.
    ///   - sizeLimit: How many bytes the file may grow to, in steps of 1 MiB, 1 step at least. What comes later is
    ///     dropped and counted, as it is when the disk is full.
    /// - Throws: ``CheckerError`` if the file cannot be created.
    public init(
        creating path: String,
        run: VersionedRun,
        sizeLimit: Int = HistoryRecorder.defaultSizeLimit
    ) throws(CheckerError) {
        self.run = run
        self.path = path
        self.spool = try RecordSpool(
            creating: path,
            segmentLimit: min(max(sizeLimit, 1 << 20), 1 << 40) >> 20,
            run: run,
            process: UInt64(getpid())
        )
    }

    /// How many events were not recorded: no room, or no key of the run.
    ///
    /// The check reports them too.
    public var droppedEvents: UInt64 { spool.dropped }

    /// The log of one instance.
    ///
    /// - Parameter number: The instance's number. Two instances of a process must not share one, nor must an instance
    ///   and its successor in the same process; other processes may use the same numbers.
    /// - Returns: The log; copies of it are the same.
    public func instance(_ number: UInt16) -> InstanceLog {
        InstanceLog(recorder: self, number: number)
    }

    /// Marks the time of a fault that the test causes.
    ///
    /// The check may grant wider bounds while a fault lasts (``StalenessBounds/duringFaults``).
    ///
    /// - Parameters:
    ///   - label: What is done, at most 8 ASCII characters, the rest is cut off.
    ///   - body: Does it and undoes it.
    /// - Throws: What `body` throws.
    /// - Returns: What `body` returns.
    public func fault<Result>(_ label: String, _ body: () async throws -> Result) async rethrows -> Result {
        let fault = beginFault(label)
        defer { fault.end() }
        return try await body()
    }

    /// Marks the beginning of a fault; its end is marked by ``OngoingEvent/end()``.
    ///
    /// - Parameter label: What is done, at most 8 ASCII characters, the rest is cut off.
    /// - Returns: The fault under way.
    public func beginFault(_ label: String) -> OngoingEvent {
        begin(.fault, version: FaultLabel.pack(label), instance: 0, key: 0)
    }

    /// Records a fault that was noticed when it was over.
    ///
    /// - Parameters:
    ///   - label: What it was, at most 8 ASCII characters, the rest is cut off.
    ///   - start: When it began, on ``HistoryClock``.
    public func recordFault(_ label: String, since start: UInt64) {
        let now = HistoryClock.now()
        record(HistoryEvent(.fault, .done, instance: 0, start: start, end: now, version: FaultLabel.pack(label)))
    }

    /// Records an event as it stands, for histories that are made up.
    package func record(_ event: HistoryEvent) {
        spool.append(HistoryRecord(event))
    }

    func begin(_ kind: HistoryEvent.Kind, version: UInt64 = 0, instance: UInt16, key: UInt32) -> OngoingEvent {
        let head = HistoryRecord.head(kind, .open, instance, key)
        let record = HistoryRecord(head: head, start: HistoryClock.now(), end: 0, version: version)
        return OngoingEvent(spool: spool, place: spool.append(record), version: version)
    }
}
