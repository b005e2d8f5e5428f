import Strata
import StrataTestSupport
import StrataTesting
import Testing

@Suite("A process that is killed while it hibernates", .timeLimit(.minutes(5)))
struct KilledWriterTests {
    @Test("leaves a whole file, and nothing that the next one does not remove")
    func killed() async throws {
        let folder = try ScratchFolder()
        let path = try InstanceProcess.builtProduct(named: "StrataTestingInstance")
        for round in 0..<6 {
            let one = try await InstanceProcess.start(path, arguments: ["hibernate", folder.file])
            let other = try await InstanceProcess.start(path, arguments: ["hibernate", folder.file])
            var lines = 0
            for await line in one.lines where line.hasPrefix("written") {
                lines += 1
                // Then in the middle of the next file, more or less.
                if lines > round % 3 { break }
            }
            for _ in 0..<(round * 7) { try await nextTurn() }
            try await one.kill()
            try await other.kill()
            let cache = MemoryLevel<Int, String>(limit: .entries(3_000)).compose(Source { _ in "fetched" })
            let report = try await cache.restore(
                from: folder.file,
                codec: .text,
                unconfirmedUpTo: .seconds(600),
                within: .seconds(600)
            )
            #expect(report.hasFile && report.isWhole && report.unreadable == 0 && report.restored == 3_000)
            for key in [0, 17, 2_999] { #expect(cache.resident(key, at: .coarse)?.value.hasPrefix("\(key) x") == true) }
            try await cache.hibernate(
                to: folder.file,
                codec: .text,
                limits: HibernationLimits(duration: .seconds(600))
            )
            #expect(folder.names == ["cache.warm"])
        }
    }
}
