#if Disk
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("A file that several share", .timeLimit(.minutes(5)))
struct SharedFileTests {
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    private func level() -> DiskLevel<String, String> {
        DiskLevel(folder.store(), namespace: "shared", codec: .text)
    }

    private func start(_ name: String, _ count: Int) async throws -> InstanceProcess {
        try await InstanceProcess.start(
            try InstanceProcess.builtProduct(named: "StrataDiskInstance"),
            arguments: [folder.file, name, String(count)]
        )
    }

    @Test("A014 many tasks through two stores at once: nothing is lost, nothing is mixed")
    func tasks() async throws {
        let levels = [level(), level()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    let level = levels[task % 2]
                    for number in 0..<20 {
                        let key = "\(task)-\(number % 5)"
                        try await level.set("\(key) \(number)", for: key)
                        #expect(try await levels[number % 2].get(key) == "\(key) \(number)")
                        if number % 7 == 6 { try await level.remove(key) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await levels[0].usage().entries == (try await levels[1].usage().entries))
    }

    @Test(
        "a second store on the file takes no lock from the first: another process that ends leaves their journal alone"
    )
    func locks() async throws {
        let first = level()
        try await first.set("1", for: "k")
        let second = level()
        #expect(try await second.get("k") == "1")
        await second.store.close()
        let journal = try #require(OpenFile.identity(of: folder.file + "-wal"))
        let other = try await start("a", 3)
        #expect(try await other.waitForExit() == .exited(0))
        #expect(OpenFile.identity(of: folder.file + "-wal") == journal)
        try await first.set("2", for: "k")
        #expect(try await level().get("k") == "2")
    }

    @Test("two processes write into one new file from the first moment on, and each value is found")
    func processes() async throws {
        let writers = [try await start("a", 120), try await start("b", 120)]
        for writer in writers { #expect(try await writer.waitForExit() == .exited(0)) }
        let level = level()
        for name in ["a", "b"] {
            for number in 101...120 {
                let key = "\(name)-\(number % 20)"
                #expect(try await level.get(key)?.hasPrefix("\(key) \(number) x") == true)
            }
        }
        #expect(try await level.usage().entries == 40)
        #expect(try folder.names.allSatisfy { !$0.contains("corrupt") })
    }

    @Test("A157 kill -9 in the middle of writes: what was acknowledged is there, whole, and the file is sound")
    func killed() async throws {
        for round in 0..<4 {
            let name = "r\(round)"
            let writer = try await start(name, 100_000)
            var acknowledged = 0
            for await line in writer.lines {
                acknowledged = try #require(Int(line))
                if acknowledged >= 30 + 17 * round { break }
            }
            try await writer.kill()
            let level = level()
            for number in max(1, acknowledged - 19)...acknowledged {
                let key = "\(name)-\(number % 20)"
                let value = try #require(try await level.get(key))
                let parts = value.split(separator: " ", omittingEmptySubsequences: false)
                let found = try #require(Int(parts[1]))
                // The outcome of the running write is unknown; any value there is whole.
                #expect(parts[0] == key && found >= number && (found - number).isMultiple(of: 20))
                #expect(parts[2].utf8.count == found % 9_000)
            }
            let verdict = try folder.inspect { try String.fetchOne($0, sql: "PRAGMA integrity_check") }
            #expect(verdict == "ok")
            await level.store.close()
        }
    }
}
#endif
