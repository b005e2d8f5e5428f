import FleetChecker
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A recorded history")
struct HistoryRecorderTests {
    private struct Refusal: Error {}

    private let folder: TemporaryFolder
    private let run: VersionedRun
    private let strict = StalenessChecker(bounds: StalenessBounds(normal: StalenessBound(fleet: .zero)))

    init() throws {
        folder = try TemporaryFolder()
        run = try VersionedRun(keyCount: 8, seed: 11)
    }

    private func events(_ files: [String]) throws -> [HistoryEvent] {
        try History(files: files).events()
    }

    @Test("holds every operation with its start, end, key, version, level and marks")
    func roundTrip() async throws {
        let source = try VersionedSource(run: run)
        let path = folder.file("a")
        let recorder = try HistoryRecorder(creating: path, run: run)
        let log = recorder.instance(3)
        let life = log.begin()
        let before = HistoryClock.now()
        let value = try #require(try source.value(of: 5))
        _ = await log.read(5) { Reading(value, from: .memory, marks: [.stale, .suspect]) }
        _ = await log.get(5) { nil }
        log.missed(6, since: HistoryClock.now())
        await #expect(throws: Refusal.self) { try await log.get(6) { throw Refusal() } }
        try log.write(7, to: source)
        try await log.change(7, in: source) {}
        await log.invalidate(.tag(70_000)) {}
        await log.invalidate(.all) {}
        await #expect(throws: Refusal.self) { try await log.invalidate(.key(1)) { throw Refusal() } }
        _ = try await log.fetch(7, from: source)
        await log.set(value) {}
        await #expect(throws: Refusal.self) { try await log.set(value) { throw Refusal() } }
        let pending = log.beginInvalidation(.key(2), of: 9)
        await recorder.fault("kill -9 server") {}
        life.end()
        let after = HistoryClock.now()

        let all = try events([path])
        #expect(recorder.droppedEvents == 0)
        for event in all where event.end != 0 {
            #expect(event.start <= event.end && event.end <= after)
            #expect(event.start >= before || event.kind == .instance)
        }
        typealias Row = (HistoryEvent.Kind, HistoryEvent.Outcome, UInt32, UInt64)
        let rows: [Row] = [
            (.instance, .done, 0, 0), (.get, .value, 5, 1), (.get, .absent, 5, 0), (.get, .miss, 6, 0),
            (.get, .failed, 6, 0), (.write, .value, 7, 2), (.write, .value, 7, 3), (.invalidateKey, .done, 7, 3),
            (.invalidateTag, .done, 70_000, 0), (.invalidateAll, .done, 0, 0), (.invalidateKey, .failed, 1, 0),
            (.fetch, .value, 7, 3), (.set, .done, 5, 1), (.set, .failed, 5, 1), (.invalidateKey, .open, 2, 9),
            (.fault, .done, 0, 0x2D20_6C6C_696B),
        ]
        try #require(all.count == rows.count)
        for (event, row) in zip(all, rows) {
            #expect((event.kind, event.outcome, event.key) == (row.0, row.1, row.2))
            if row.0 != .fault { #expect(event.version == row.3, "\(row)") }
        }
        #expect(all[1].level == .memory)
        #expect(all[1].marks == [.stale, .suspect])
        #expect(all[2].level == .unknown && all[2].marks == [])
        pending.end()
        #expect(try events([path])[14].outcome == .done)
    }

    @Test("knows a stranger's value and a forged one when it is read")
    func wrongValues() async throws {
        let path = folder.file("a")
        let log = try HistoryRecorder(creating: path, run: run).instance(0)
        let source = try VersionedSource(run: run)
        let other = try #require(try source.value(of: 4))
        _ = await log.get(5) { other }
        _ = await log.get(5) { VersionedValue(key: 5, version: 1, writer: 0, salt: 99) }
        _ = await log.get(5) { VersionedValue(key: -5, version: .max, writer: 0, salt: 99) }
        let all = try events([path])
        #expect(all.map(\.outcome) == [.stranger, .forged, .forged])
        let report = try strict.check(History(files: [path]))
        #expect(report.violationCounts == [.stranger: 1, .forged: 2])
        #expect(report.examples.contains { $0.description.contains("the value of key 4") })
    }

    @Test("loses nothing when many record at once, over several segments")
    func concurrentRecording() async throws {
        let path = folder.file("a")
        let recorder = try HistoryRecorder(creating: path, run: run)
        let tasks = 4
        let each = 20_000
        await withTaskGroup { group in
            for task in 0..<tasks {
                group.addTask {
                    let log = recorder.instance(UInt16(task))
                    for number in (task * each)..<((task + 1) * each) {
                        log.beginInvalidation(.key(task), of: UInt64(number)).end()
                    }
                }
            }
        }
        #expect(recorder.droppedEvents == 0)
        let all = try events([path])
        #expect(all.map(\.version).sorted() == (0..<UInt64(tasks * each)).map { $0 })
        #expect(all.allSatisfy { $0.version / UInt64(each) == UInt64($0.key) && $0.outcome == .done })
        #expect(Set(all.map(\.instance)).count == tasks)
        let report = try strict.check(History(files: [path]))
        #expect(report.totals.torn == 0 && report.totals.lost == 0 && report.isComplete)
    }

    @Test("drops and counts what finds no room, and says that it is incomplete")
    func sizeLimit() throws {
        let path = folder.file("a")
        let recorder = try HistoryRecorder(creating: path, run: run, sizeLimit: 0)
        let log = recorder.instance(0)
        for _ in 0..<40_000 { log.beginInvalidation(.all).end() }
        #expect(recorder.droppedEvents > 0)
        let kept = try events([path])
        #expect(kept.count == 32_768)
        #expect(kept.allSatisfy { $0.outcome == .done })
        let report = try strict.check(History(files: [path]))
        #expect(report.totals.dropped == 40_000 - 32_768)
        #expect(report.totals.lost == 0 && report.totals.torn == 0)
        #expect(!report.isComplete && !report.isClean)
        #expect(report.description.contains("the history is incomplete"))
    }

    @Test("drops and counts events of keys outside the run", arguments: [-1, 8, .max])
    func unknownKeys(key: Int) async throws {
        let path = folder.file("a")
        let recorder = try HistoryRecorder(creating: path, run: run)
        let log = recorder.instance(0)
        _ = await log.get(key) { nil }
        log.beginInvalidation(.key(key)).end()
        log.beginInvalidation(.tag(-1)).fail()
        #expect(recorder.droppedEvents == 3)
        #expect(try events([path]).isEmpty)
    }

    @Test("shrinks its file to what it holds when it is done with")
    func truncation() throws {
        let path = folder.file("a")
        do {
            let recorder = try HistoryRecorder(creating: path, run: run)
            #expect(try bytes(of: path).count > 1 << 20)
            recorder.instance(0).beginInvalidation(.all).end()
        }
        #expect(try bytes(of: path).count < 20_000)
        #expect(try events([path]).count == 1)
    }

    @Test("survives the kill of its process, with the operations it was in begun and not ended")
    func killedProcess() async throws {
        let sourcePath = folder.file("source")
        let path = folder.file("killed")
        let source = try VersionedSource(creating: sourcePath, run: run)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, sourcePath = sourcePath as String] in
            let source = try VersionedSource(opening: sourcePath)
            let log = try HistoryRecorder(creating: path, run: source.run).instance(7)
            for _ in 0..<100 { try log.write(1, to: source) }
            let value = try source.value(of: 1)
            _ = await log.get(1) { value }
            _ = log.begin()
            _ = await log.invalidate(.key(1)) {
                _ = try? source.write(1, by: 7)
                kill(getpid(), SIGKILL)
            }
        }
        let events = try events([path])
        #expect(events.count == 103)
        #expect(events.filter { $0.kind == .write && $0.outcome == .value }.map(\.version) == (2...101).map { $0 })
        let open = events.filter { $0.outcome == .open }
        #expect(open.map(\.kind) == [.instance, .invalidateKey])
        #expect(try source.value(of: 1)?.version == 102)
        let report = try strict.check(History(files: [path]))
        #expect(report.isClean)
        #expect(report.totals.unknownInvalidations == 1)
    }

    @Test("can be cut anywhere: what is whole is read, the rest is not")
    func cutFile() async throws {
        let path = folder.file("a")
        do {
            let log = try HistoryRecorder(creating: path, run: run).instance(0)
            for version in 1...10 { log.beginInvalidation(.key(0), of: UInt64(version)).end() }
        }
        let whole = try bytes(of: path)
        let header = 16_384
        for records in 0...10 {
            for rest in [0, 1, 8, 31] where records < 10 || rest == 0 {
                let cut = folder.file("cut\(records)-\(rest)")
                try write(Array(whole.prefix(header + records * 32 + rest)), to: cut)
                let history = try History(files: [cut])
                #expect(try history.events().map(\.version) == (0..<UInt64(records)).map { $0 + 1 })
                let report = try strict.check(history)
                #expect(report.totals.events == records)
                #expect(report.totals.lost == UInt64(10 - records))
                #expect(report.isComplete == (records == 10))
            }
        }
        for length in [0, 7, 8, header - 1] {
            let cut = folder.file("header\(length)")
            try write(Array(whole.prefix(length)), to: cut)
            #expect("\(length) bytes") { try History(files: [cut]) } throws: {
                ($0 as? CheckerError)?.code == .malformedFile
            }
        }
    }

    @Test("counts records that were begun and never written, and such as make no sense")
    func damagedRecords() throws {
        let path = folder.file("a")
        do {
            let log = try HistoryRecorder(creating: path, run: run).instance(0)
            for version in 1...10 { log.beginInvalidation(.key(0), of: UInt64(version)).end() }
        }
        var file = try bytes(of: path)
        let first = 16_384
        for byte in 0..<8 { file[first + 32 + byte] = 0 }  // never written
        file[first + 2 * 32] = 0x0F  // no such kind
        file[first + 3 * 32] = 0xF3  // no such outcome
        file[first + 4 * 32 + 1] = 0x0F  // no such level
        file[first + 5 * 32 + 4] = 8  // no such key
        for byte in 0..<8 { file[first + 6 * 32 + 16 + byte] = byte == 0 ? 1 : 0 }  // ends before it starts
        for byte in 0..<8 { file[first + 7 * 32 + 8 + byte] = 0 }  // no start
        let other = folder.file("damaged")
        try write(file, to: other)
        let report = try strict.check(History(files: [other]))
        #expect(report.totals.torn == 1)
        #expect(report.totals.unreadable == 6)
        #expect(report.totals.events == 3)
        #expect(!report.isComplete)
    }

    @Test("never traps on a file of arbitrary bytes", arguments: 0..<40)
    func arbitraryBytes(seed: UInt64) throws {
        let path = folder.file("a")
        do {
            let log = try HistoryRecorder(creating: path, run: run).instance(0)
            for version in 1...40 { log.beginInvalidation(.key(0), of: UInt64(version)).end() }
        }
        var generator = SeededGenerator(seed: seed)
        var file = try bytes(of: path)
        // Even seeds damage the records, odd ones the header too.
        let from = seed.isMultiple(of: 2) ? 16_384 : 8
        for _ in 0..<400 {
            file[Int.random(in: from..<file.count, using: &generator)] = .random(in: 0...255, using: &generator)
        }
        if !seed.isMultiple(of: 2) {
            for byte in 0..<8 { file[8 + byte] = .random(in: 0...255, using: &generator) }
        }
        let other = folder.file("damaged")
        try write(file, to: other)
        do {
            _ = try strict.check(History(files: [other]))
        } catch {
            #expect([.malformedFile, .invalidArgument].contains(error.code), "\(error)")
        }
    }

    @Test("of different runs is not mixed")
    func differentRuns() throws {
        let paths = [folder.file("a"), folder.file("b")]
        _ = try HistoryRecorder(creating: paths[0], run: run)
        _ = try HistoryRecorder(creating: paths[1], run: VersionedRun(keyCount: 8, seed: 12))
        #expect { try History(files: paths) } throws: { ($0 as? CheckerError)?.code == .differentRuns }
        #expect { try History(files: []) } throws: { ($0 as? CheckerError)?.code == .invalidArgument }
        #expect { try History(files: [folder.file("c")]) } throws: { ($0 as? CheckerError)?.code == .fileUnavailable }
        #expect { try HistoryRecorder(creating: paths[0], run: run) } throws: {
            ($0 as? CheckerError)?.code == .fileUnavailable
        }
    }

    @Test("tells instances of different processes apart, also if they have the same number")
    func instancesOfProcesses() throws {
        let paths = [folder.file("a"), folder.file("b")]
        for path in paths {
            let recorder = try HistoryRecorder(creating: path, run: run)
            for number in [UInt16(3), 9, 3] { recorder.instance(number).beginInvalidation(.key(0)).end() }
            recorder.beginFault("stop").end()
        }
        let history = try History(files: paths)
        #expect(try history.events().filter { $0.kind != .fault }.map(\.instance) == [0, 1, 0, 2, 3, 2])
        #expect(try strict.check(history).totals.instances == 4)
    }
}
