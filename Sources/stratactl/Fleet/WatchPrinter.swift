import Strata
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Whether changes have been told since the program began.
final class WatchStart: Sendable {
    private let isOver = Locked(false)

    var hasListened: Bool { isOver.withLock { $0 } }

    func listens() { isOver.withLock { $0 = true } }
}

/// Prints the events of a keyspace while they come.
struct WatchPrinter {
    /// How many leases are looked at in a second.
    private static let mostLeases = 100

    private let inspector: KeyspaceInspector
    private let watch: KeyspaceWatch
    private let format: OutputOptions.Format
    private var second = MonotonicInstant.distantPast
    private var looked = 0
    /// Leases that were not looked at.
    private var leftOut = 0

    init(_ inspector: KeyspaceInspector, _ watch: KeyspaceWatch, format: OutputOptions.Format) {
        self.inspector = inspector
        self.watch = watch
        self.format = format
    }

    static func failure(_ watch: KeyspaceWatch) -> Failure {
        Failure(.failed, "changes are not reported: \(watch.refusal ?? "the server did not agree to that in time")")
    }

    /// Returns when so many events were printed, or the task is cancelled.
    mutating func print(_ events: AsyncStream<WatchEvent>, _ count: Int?, _ start: WatchStart) async throws {
        var printed = 0
        for await event in events {
            switch event {
            case .listening: start.listens()
            case .lost where !start.hasListened:
                // A right that is missing does not come by itself; a server may.
                guard watch.refusal?.contains("NOPERM") == true else { continue }
                throw Self.failure(watch)
            default: break
            }
            if second.duration(to: .now) >= .seconds(1) {
                if leftOut > 0 { try print(.leftOut(leftOut), lease: nil) }
                (second, looked, leftOut) = (.now, 0, 0)
            }
            guard case .lease(let key) = event else {
                try print(event, lease: nil)
                if event != .listening, event != .lost { printed += 1 }
                if let count, printed >= count { return }
                continue
            }
            guard looked < Self.mostLeases else {
                leftOut += 1
                continue
            }
            looked += 1
            do {
                try print(event, lease: try await inspector.lease(of: key))
                printed += 1
            } catch is RedisError {
                leftOut += 1
            }
            if let count, printed >= count { return }
        }
    }

    private func print(_ event: WatchEvent, lease: LeaseInspection?) throws {
        let line = WatchLine(event, lease: lease, now: Int64(Date().timeIntervalSince1970 * 1000))
        switch format {
        case .table: StandardOutput.lines(line.lines(within: StandardOutput.columns))
        case .plain: StandardOutput.cells([line.cells])
        case .json: StandardOutput.bytes(Array((try JSONDocument.line(of: line) + "\n").utf8))
        }
    }
}
