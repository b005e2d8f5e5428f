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

    @Option(help: "How often each takes its turn.")
    var rounds = 5

    @Option(help: "Where the files lie.")
    var folder = FileManager.default.temporaryDirectory.path

    mutating func run() async throws {
        var times: [String: [Double]] = [:]
        for round in 0..<max(1, rounds) {
            // In turn, and each first in every other round.
            for isStrata in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let path = "\(folder)/strata-load-\(UInt64.random(in: 0 ... .max)).sqlite"
                defer {
                    for ending in ["", "-wal", "-shm", ".lock"] {
                        try? FileManager.default.removeItem(atPath: path + ending)
                    }
                }
                let (write, read) = try await isStrata ? level(path) : plain(path)
                times[isStrata ? "write" : "plain.write", default: []].append(write)
                times[isStrata ? "read" : "plain.read", default: []].append(read)
            }
        }
        for kind in ["write", "read"] {
            let own = (times[kind] ?? []).median
            let plain = (times["plain.\(kind)"] ?? []).median
            let count = Double(entries)
            Measurement(name: "disk.\(kind)", value: own / count * 1e6, unit: "µs an entry").print()
            Measurement(name: "disk.plain.\(kind)", value: plain / count * 1e6, unit: "µs an entry").print()
            Measurement(
                name: "disk.\(kind).ratio",
                value: own / plain,
                unit: "of plain's time",
                comparedTo: "a table of keys and values through GRDB, \(entries) entries of \(size) bytes"
            )
            .print()
        }
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

    private func level(_ path: String) async throws -> (Double, Double) {
        let store = DiskStore(path: path)
        let level = DiskLevel<String, [UInt8]>(store, namespace: "load", codec: .bytes, limit: 1 << 40)
        _ = try await level.get("nothing")
        let write = try await seconds {
            for number in 0..<entries { try await level.set(value(number), for: "product:\(number)") }
        }
        let read = try await seconds {
            for number in 0..<entries {
                guard try await level.get("product:\(number)")?.count == size else {
                    throw ValidationError("an entry is missing")
                }
            }
        }
        await store.close()
        return (write, read)
    }

    private func plain(_ path: String) async throws -> (Double, Double) {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try await pool.write {
            try $0.execute(sql: "CREATE TABLE entry (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL)")
        }
        let write = try await seconds {
            for number in 0..<entries {
                let (key, value) = (Data("product:\(number)".utf8), Data(value(number)))
                try await pool.write { db in
                    try db.cachedStatement(sql: "INSERT OR REPLACE INTO entry (key, value) VALUES (?, ?)")
                        .execute(arguments: [key, value])
                }
            }
        }
        let read = try await seconds {
            for number in 0..<entries {
                let key = Data("product:\(number)".utf8)
                let found = try await pool.read { db in
                    try Data.fetchOne(
                        try db.cachedStatement(sql: "SELECT value FROM entry WHERE key = ?"),
                        arguments: [key]
                    )
                }
                guard found.map(Array.init)?.count == size else { throw ValidationError("an entry is missing") }
            }
        }
        try pool.close()
        return (write, read)
    }
}
