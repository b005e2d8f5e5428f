import Strata
import StrataTesting
import Testing

@testable import StrataRedis

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite("Rounds of an I/O thread with several groups of connections", .timeLimit(.minutes(5)))
struct LoopRoundTests {
    /// A driver whose descriptor always has something, and that takes its time for it.
    private final class BusyDriver: LoopDriver {
        let descriptor: Int32?
        let work: () -> Void
        private(set) var events = 0

        init(_ descriptor: Int32?, _ work: @escaping () -> Void) {
            self.descriptor = descriptor
            self.work = work
        }

        var interest: (descriptor: Int32, events: Int16)? { descriptor.map { ($0, Int16(POLLIN)) } }
        var nextDeadline: MonotonicInstant { .distantFuture }
        var isFinished: Bool { true }
        func pump(now: MonotonicInstant) {}

        func handle(events: Int16, now: MonotonicInstant) {
            self.events += 1
            work()
        }
    }

    /// The end of a pipe that has something, and stays so.
    private final class Readable {
        let ends: [Int32]

        init() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            var byte: UInt8 = 1
            try #require(write(ends[1], &byte, 1) == 1)
            self.ends = ends
        }

        deinit { for end in ends { close(end) } }
    }

    private func group(_ loop: IOLoop) throws -> ConnectionGroup {
        ConnectionGroup(configuration: try RedisConfiguration(url: "redis://localhost"), logger: nil, loop: loop)
    }

    private func rounds(_ count: Int, _ work: @escaping () -> Void) throws -> [[Int]] {
        let readable = try Readable()
        defer { withExtendedLifetime(readable) {} }
        let loop = try IOLoop()
        var round = LoopRound()
        var drivers: [[BusyDriver]] = []
        for _ in 0..<3 {
            let pair = [BusyDriver(readable.ends[0], work), BusyDriver(readable.ends[0], work)]
            drivers.append(pair)
            round.add(try group(loop), pair)
        }
        var counts: [[Int]] = []
        for _ in 0..<count {
            round.list(loop.wakeup.descriptor)
            let ready = round.poll(milliseconds: 0)
            #expect(ready == 6)
            round.handle()
            counts.append(drivers.map { $0[0].events })
            // What belongs to one group is not torn apart.
            #expect(drivers.allSatisfy { $0[0].events == $0[1].events })
        }
        return counts
    }

    @Test("events of all groups are handled in one round when that takes no time")
    func quick() throws {
        // A busy machine may take the processor away in the middle of a round, so it is tried again.
        var isWhole = false
        for _ in 0..<50 where !isWhole { isWhole = try rounds(1) {} == [[1, 1, 1]] }
        #expect(isWhole)
    }

    @Test("a group that takes long ends the round, and the next one begins behind it")
    func slow() throws {
        let counts = try rounds(4) {
            let end = MonotonicInstant.now.advanced(byNanoseconds: LoopRound.slice)
            while .now < end {}
        }
        #expect(counts == [[1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 1]])
    }

    @Test("drivers without a descriptor are not waited for, however many they are, and the others get their events")
    func idle() throws {
        let readable = try Readable()
        defer { withExtendedLifetime(readable) {} }
        let loop = try IOLoop()
        var round = LoopRound()
        var busy: [BusyDriver] = []
        for _ in 0..<3 {
            let driver = BusyDriver(readable.ends[0]) {}
            let idle = (0..<100).map { _ in BusyDriver(nil) { Issue.record("it has no events") } }
            round.add(try group(loop), idle + [driver] + idle)
            busy.append(driver)
        }
        round.list(loop.wakeup.descriptor)
        #expect(round.waitingFor == 4)
        #expect(round.poll(milliseconds: 0) == 3)
        round.handle()
        #expect(busy[0].events == 1)
    }

    @Test("a group that is to end is let go of when all its drivers have finished, and the others stay")
    func ends() throws {
        let loop = try IOLoop()
        let readable = try Readable()
        defer { withExtendedLifetime(readable) {} }
        var round = LoopRound()
        let groups = try (0..<3).map { _ in try group(loop) }
        for group in groups { round.add(group, [BusyDriver(readable.ends[0]) {}]) }
        let early = round.removeFinished()
        #expect(early.isEmpty)
        groups[1].stop(by: .distantPast)
        let one = round.removeFinished()
        #expect(one.map(ObjectIdentifier.init) == [ObjectIdentifier(groups[1])])
        var isEmpty = round.isEmpty
        #expect(!isEmpty)
        let none = round.removeFinished()
        #expect(none.isEmpty)
        for group in groups { group.stop(by: .distantPast) }
        let others = round.removeFinished()
        #expect(others.count == 2)
        isEmpty = round.isEmpty
        #expect(isEmpty)
    }
}
