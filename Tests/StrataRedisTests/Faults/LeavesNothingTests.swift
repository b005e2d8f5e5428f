import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

#if os(Linux)
/// One at a time, for what others open meanwhile would count.
@Suite("What a process holds is counted", .serialized, .timeLimit(.minutes(5)))
struct LeavesNothingTests {
    @Test("a descriptor and a thread that are there more than before are named, and nothing else is")
    func holdings() async throws {
        let before = LeavesNothing.Holdings.now
        let file = try #require(FileHandle(forReadingAtPath: "/dev/null"))
        let gate = DispatchSemaphore(value: 0)
        #expect(NativeThread.start(name: "strata-left") { gate.wait() } == 0)
        // A thread bears its maker's name until it has taken its own.
        while LeavesNothing.Holdings.now.threads["strata-left"] == nil { try await nextTurn() }
        let after = LeavesNothing.Holdings.now
        #expect(after.excess(over: before).contains("1 × strata-left"))
        #expect(after.descriptors["/dev/null", default: 0] > before.descriptors["/dev/null", default: 0])
        gate.signal()
        try file.close()
        while !LeavesNothing.Holdings.now.excess(over: before).isEmpty { try await nextTurn() }
    }

    @Test("pipes, which only a sanitizer opens, do not count")
    func pipes() throws {
        let before = LeavesNothing.Holdings.now
        let pipe = Pipe()
        #expect(LeavesNothing.Holdings.now.descriptors["pipe"] == nil)
        #expect(LeavesNothing.Holdings.now.excess(over: before) == [])
        try pipe.fileHandleForReading.close()
        try pipe.fileHandleForWriting.close()
    }

    @Test("a task that goes on keeps the witness of those who began it")
    func witness() async throws {
        weak var witness: LeavesNothing.Witness?
        let gate = AsyncGate()
        let task: Task<Void, any Error>
        do {
            let one = LeavesNothing.Witness()
            witness = one
            task = LeavesNothing.$witness.withValue(one) { Task { try await gate.pass() } }
        }
        await gate.arrivals()
        #expect(witness != nil)
        gate.open()
        try await task.value
        while witness != nil { try await nextTurn() }
    }
}
#endif
