#if Disk
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A folder of a test's own.
final class DiskFolder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/strata-disk-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var file: String { "\(path)/cache.sqlite" }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    /// A store that waits for others for as long as they take on a busy machine.
    func store(_ options: DiskOptions = DiskOptions(lockTimeout: .seconds(60))) -> DiskStore {
        DiskStore(path: file, options: options)
    }

    /// Looks into the file, or changes it, without the level.
    func inspect<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let queue = try connection()
        defer { try? queue.close() }
        return try queue.write(body)
    }

    /// A connection as another process has one: it waits for those that write, or close the file.
    func connection() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: file, configuration: configuration)
    }
}

/// Waits for what a test was told to expect, as a code.
func diskCode(_ body: () async throws -> Void) async -> DiskError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? DiskError)?.code
    }
}

/// A wall clock that is set by hand, beside a monotonic one that follows it only forward.
final class HandClock: Sendable {
    private let milliseconds: Locked<(wall: Int64, run: Int64)>
    // Lifetimes that are counted from the real time end a little later by this clock.
    private let base = MonotonicInstant.now

    init(_ start: Int64 = 1_700_000_000_000) {
        milliseconds = Locked((start, 0))
    }

    var clock: WallClock {
        WallClock { [self] in
            milliseconds.withLock { now in
                ClockReading(
                    monotonic: base.advanced(byNanoseconds: now.run * 1_000_000),
                    wall: now.wall
                )
            }
        }
    }

    /// Time passes.
    func advance(_ step: Int64) {
        milliseconds.withLock { now in
            now.wall += step
            now.run += step
        }
    }

    /// The wall clock is set.
    func set(by step: Int64) { milliseconds.withLock { $0.wall += step } }
}
#endif
