import ArgumentParser
import Foundation
import GRDB
import Strata
import StrataDisk

/// Measures the level on disk beside a plain table of keys and values, in SQLite through GRDB too.
struct DiskLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disk",
        abstract: "Entries written to disk and read back, beside plain SQLite through GRDB."
    )

    @Option(help: "How many entries.")
    var entries = 10_000

    @Option(help: "The size of a value in bytes.")
    var size = 4_096

    @Option(help: "How many entries each handles before it is the other's turn.")
    var turn = 250

    @Option(help: "Where the files lie.")
    var folder = FileManager.default.temporaryDirectory.path

    mutating func run() async throws {
        let paths = (0..<2).map { _ in "\(folder)/strata-load-\(UInt64.random(in: 0 ... .max)).sqlite" }
        defer {
            for path in paths {
                for ending in ["", "-wal", "-shm", ".lock"] {
                    try? FileManager.default.removeItem(atPath: path + ending)
                }
            }
        }
        let store = DiskStore(path: paths[0])
        let level = DiskLevel<String, [UInt8]>(store, namespace: "load", codec: .bytes, limit: 1 << 40)
        _ = try await level.get("nothing")
        let plain = try await PlainTable(paths[1])

        // They take turns of a few milliseconds, so that a busy machine slows both alike.
        try await report("write") { numbers in
            for number in numbers { try await level.set(value(number), for: "product:\(number)") }
        } plain: { numbers in
            for number in numbers { try await plain.set(value(number), for: "product:\(number)") }
        }
        try await report("read") { numbers in
            for number in numbers {
                guard try await level.get("product:\(number)")?.count == size else {
                    throw ValidationError("an entry is missing")
                }
            }
        } plain: { numbers in
            for number in numbers {
                guard try await plain.get("product:\(number)")?.count == size else {
                    throw ValidationError("an entry is missing")
                }
            }
        }
        await store.close()
    }

    private func report(
        _ kind: String,
        _ own: (Range<Int>) async throws -> Void,
        plain: (Range<Int>) async throws -> Void
    ) async throws {
        var times: (own: Double, plain: Double) = (0, 0)
        for start in stride(from: 0, to: entries, by: max(1, turn)) {
            let numbers = start..<min(entries, start + max(1, turn))
            times.own += try await seconds { try await own(numbers) }
            times.plain += try await seconds { try await plain(numbers) }
        }
        let count = Double(max(1, entries))
        Measurement(name: "disk.\(kind)", value: times.own / count * 1e6, unit: "µs an entry").print()
        Measurement(name: "disk.plain.\(kind)", value: times.plain / count * 1e6, unit: "µs an entry").print()
        Measurement(
            name: "disk.\(kind).ratio",
            value: times.own / times.plain,
            unit: "of plain's time",
            comparedTo: "a table of keys and values through GRDB, \(entries) entries of \(size) bytes"
        )
        .print()
    }

    private func value(_ number: Int) -> [UInt8] {
        var value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
        for index in stride(from: 0, to: size, by: 7) { value[index] = UInt8(truncatingIfNeeded: index &* number) }
        return value
    }

    private func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }
}

/// What one would write without a cache: keys and values in a table, one transaction a call.
private struct PlainTable {
    private let pool: DatabasePool

    init(_ path: String) async throws {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        pool = try DatabasePool(path: path, configuration: configuration)
        try await pool.write {
            try $0.execute(sql: "CREATE TABLE entry (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL)")
        }
    }

    func set(_ value: [UInt8], for key: String) async throws {
        let (key, value) = (Data(key.utf8), Data(value))
        try await pool.write { db in
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO entry (key, value) VALUES (?, ?)")
                .execute(arguments: [key, value])
        }
    }

    func get(_ key: String) async throws -> [UInt8]? {
        let key = Data(key.utf8)
        return
            try await pool.read { db in
                try Data.fetchOne(
                    try db.cachedStatement(sql: "SELECT value FROM entry WHERE key = ?"),
                    arguments: [key]
                )
            }
            .map(Array.init)
    }
}
