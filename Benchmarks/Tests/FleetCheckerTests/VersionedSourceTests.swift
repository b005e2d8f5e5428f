import FleetChecker
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A versioned source")
struct VersionedSourceTests {
    @Test("every write counts one up and names its writer")
    func writesCountUp() throws {
        let source = try VersionedSource(run: VersionedRun(keyCount: 2, seed: 7))
        #expect(try source.value(of: 0)?.version == 1)
        #expect(try source.write(0, by: 9) == 2)
        let value = try #require(try source.value(of: 0))
        #expect(value.version == 2)
        #expect(value.writer == 9)
        #expect(value.key == 0)
        #expect(source.run.isGenuine(value))
        #expect(try source.value(of: 1)?.version == 1)
    }

    @Test("a key of version 0 is absent until it is written")
    func absentUntilWritten() async throws {
        let source = try VersionedSource(run: VersionedRun(keyCount: 1, seed: 7, initialVersion: 0))
        #expect(try await source.fetch(0) == nil)
        try source.write(0, by: 1)
        #expect(try await source.fetch(0)?.version == 1)
    }

    @Test("no part of a genuine value can be changed unnoticed")
    func forgedValues() throws {
        let run = try VersionedRun(keyCount: 10, seed: 7)
        let value = try #require(try VersionedSource(run: run).value(of: 3))
        func changed(key: Int = 3, version: UInt64 = 1, writer: UInt16 = 0, salt: UInt64? = nil) -> VersionedValue {
            VersionedValue(key: key, version: version, writer: writer, salt: salt ?? value.salt)
        }
        #expect(run.isGenuine(changed()))
        #expect(!run.isGenuine(changed(key: 4)))
        #expect(!run.isGenuine(changed(version: 2)))
        #expect(!run.isGenuine(changed(writer: 1)))
        #expect(!run.isGenuine(changed(salt: value.salt ^ 1)))
        #expect(try !VersionedRun(keyCount: 10, seed: 8).isGenuine(value))
        let outside = try #require(try VersionedSource(run: VersionedRun(keyCount: 20, seed: 7)).value(of: 15))
        #expect(!run.isGenuine(outside))
    }

    @Test("versions written at the same time by many are all different")
    func concurrentWrites() async throws {
        let source = try VersionedSource(run: VersionedRun(keyCount: 1, seed: 7))
        let each = 50_000
        try await withThrowingTaskGroup { group in
            for writer in 0..<4 {
                group.addTask {
                    var last: UInt64 = 1
                    for _ in 0..<each {
                        let version = try source.write(0, by: UInt16(writer))
                        if version <= last { Issue.record("\(version) after \(last)") }
                        last = version
                    }
                }
            }
            try await group.waitForAll()
        }
        // As many versions as writes: none was given twice.
        #expect(try source.value(of: 0)?.version == UInt64(4 * each + 1))
    }

    @Test("processes that share the file count up the same versions")
    func sharedByProcesses() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("source")
        let source = try VersionedSource(creating: path, run: VersionedRun(keyCount: 3, seed: 7))
        try source.write(2, by: 1)
        await withTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        let source = try VersionedSource(opening: path)
                        #expect(source.run.seed == 7)
                        // Neither begins before the other is there.
                        try source.write(0, by: 5)
                        while try source.value(of: 0)?.version ?? 0 < 3 { sched_yield() }
                        for _ in 0..<50_000 { try source.write(2, by: 5) }
                    }
                }
            }
        }
        #expect(try source.value(of: 2)?.version == 100_002)
        #expect(try VersionedSource(opening: path).value(of: 2)?.writer == 5)
    }

    @Test("the hook stands before and after the moment of reading")
    func hook() async throws {
        struct Refusal: Error {}
        let steps = Mutex<[VersionedSource.FetchStep]>([])
        let changing = try VersionedSource(run: VersionedRun(keyCount: 1, seed: 7)) { _, step in
            steps.withLock { $0.append(step) }
        }
        #expect(try await changing.fetch(0)?.version == 1)
        #expect(steps.withLock { $0 } == [.beforeRead, .afterRead])

        let folder = try TemporaryFolder()
        let path = folder.file("source")
        let truth = try VersionedSource(creating: path, run: VersionedRun(keyCount: 1, seed: 7))
        let early = try VersionedSource(opening: path) { _, step in
            if step == .beforeRead { try truth.write(0, by: 1) }
        }
        let late = try VersionedSource(opening: path) { _, step in
            if step == .afterRead { try truth.write(0, by: 1) }
        }
        #expect(try await early.fetch(0)?.version == 2)
        #expect(try await late.fetch(0)?.version == 2)
        #expect(try await truth.fetch(0)?.version == 3)
        let refusing = try VersionedSource(opening: path) { _, _ in throw Refusal() }
        await #expect(throws: Refusal.self) { try await refusing.fetch(0) }
    }

    @Test("keys outside the run are refused, not trapped on", arguments: [-1, 2, .max, .min])
    func unknownKeys(key: Int) async throws {
        let source = try VersionedSource(run: VersionedRun(keyCount: 2, seed: 7))
        #expect { try source.value(of: key) } throws: { ($0 as? CheckerError)?.code == .unknownKey }
        #expect { try source.write(key, by: 1) } throws: { ($0 as? CheckerError)?.code == .unknownKey }
        await #expect { try await source.fetch(key) } throws: { ($0 as? CheckerError)?.code == .unknownKey }
    }

    @Test("numbers out of range are refused")
    func arguments() {
        for count in [0, -1, VersionedRun.maximumKeyCount + 1] {
            #expect { try VersionedRun(keyCount: count, seed: 1) } throws: {
                ($0 as? CheckerError)?.code == .invalidArgument
            }
        }
        #expect { try VersionedRun(keyCount: 1, seed: 1, initialVersion: 1 << 32 + 1) } throws: {
            ($0 as? CheckerError)?.code == .invalidArgument
        }
    }

    @Test("a file that is no source, or not the whole of one, is refused")
    func foreignFiles() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("source")
        let run = try VersionedRun(keyCount: 3, seed: 7)
        #expect { try VersionedSource(opening: path) } throws: { ($0 as? CheckerError)?.code == .fileUnavailable }
        _ = try VersionedSource(creating: path, run: run)
        #expect { try VersionedSource(creating: path, run: run) } throws: {
            ($0 as? CheckerError)?.code == .fileUnavailable
        }
        let whole = try bytes(of: path)
        let overwritten = [UInt8](repeating: 0xFF, count: 8)
        let damaged: [[UInt8]] = [
            [], Array(whole.prefix(100)), Array(whole.dropLast(8)), whole + overwritten,
            overwritten + whole.dropFirst(8),
            whole.prefix(8) + overwritten + whole.dropFirst(16),
            whole.prefix(24) + overwritten + whole.dropFirst(32),
        ]
        for (index, bytes) in damaged.enumerated() {
            let other = folder.file("damaged\(index)")
            try write(bytes, to: other)
            #expect("damage \(index)") { try VersionedSource(opening: other) } throws: {
                [.malformedFile, .invalidArgument].contains(($0 as? CheckerError)?.code)
            }
        }
    }
}
