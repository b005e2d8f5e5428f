import StrataTesting
import Testing

@testable import Strata

@Suite("What waits for the source: order, batches, pauses, room")
struct PendingWritesTests {
    typealias Pending = PendingWrites<String, Int>
    struct Failure: Error {}

    @Test("a write waits for others, a full batch does not wait")
    func batches() throws {
        let rig = Rig()
        rig.set(1, for: "a")
        rig.set(2, for: "b")
        #expect(rig.batches.isEmpty && rig.due == rig.now.advanced(by: .milliseconds(100)))
        rig.advance(.milliseconds(99))
        #expect(rig.batches.isEmpty)
        rig.set(3, for: "c")
        let full = try #require(rig.take())
        #expect(full.writes.map(\.key) == ["a", "b", "c"])
        rig.set(4, for: "d")
        rig.advance(.milliseconds(100))
        #expect(rig.take()?.writes.map(\.key) == ["d"])
        rig.succeed(full)
        #expect(rig.pending.count == 1 && rig.pending.counts.written == 3)
    }

    @Test("where the source takes one key by a call, writes wait all the same, and then go one by one")
    func single() throws {
        let rig = Rig(keysPerCall: 1)
        rig.set(1, for: "a")
        rig.set(2, for: "b")
        rig.advance(.milliseconds(99))
        #expect(rig.batches.isEmpty)
        rig.advance(.milliseconds(1))
        #expect(rig.batches.map { $0.writes.map(\.key) } == [["a"], ["b"]])
    }

    @Test("of the writes of a key the last is made, in the place of the first")
    func coalescing() throws {
        let rig = Rig()
        rig.set(1, for: "a", cost: 5)
        rig.advance(.milliseconds(50))
        rig.set(2, for: "b", cost: 1)
        rig.set(3, for: "a", cost: 7)
        #expect(rig.pending.statistics(at: rig.now).pendingCost == 8)
        rig.advance(.milliseconds(50))
        let batch = try #require(rig.take())
        #expect(batch.writes.map(\.key) == ["a", "b"] && batch.writes[0].entry.value == 3)
        rig.succeed(batch)
        #expect(rig.pending.isEmpty && rig.pending.counts.coalesced == 1)
        #expect(rig.pending.statistics(at: rig.now).pendingCost == 0)
    }

    @Test("of a key one write is under way at a time, and the next goes when it has ended")
    func order() throws {
        let rig = Rig()
        rig.set(1, for: "a")
        rig.advance(.milliseconds(100))
        let first = try #require(rig.take())
        rig.set(2, for: "a")
        rig.set(3, for: "a")
        rig.advance(.seconds(1))
        #expect(rig.batches.isEmpty)
        #expect(rig.pending.newest("a")?.entry.value == 3)
        rig.succeed(first)
        #expect(rig.take()?.writes.map(\.entry.value) == [3])
    }

    @Test("what is being set is no write yet; one that is given back leaves what was there")
    func setting() {
        let rig = Rig()
        #expect(rig.begin(1, "a"))
        rig.advance(.seconds(1))
        #expect(rig.batches.isEmpty && rig.pending.newest("a")?.isTaken == false)
        rig.pending.abandon("a")
        rig.advance()
        #expect(rig.pending.isEmpty)
        rig.set(2, for: "a")
        #expect(rig.begin(3, "a"))
        #expect(rig.pending.newest("a")?.entry.value == 2)
        rig.pending.abandon("a")
        rig.advance(.seconds(1))
        #expect(rig.take()?.writes.map(\.entry.value) == [2])
    }

    @Test("what fails rests, in halves of its batch; a later write of the key takes its place")
    func failing() throws {
        let rig = Rig()
        for (index, key) in ["a", "b", "c"].enumerated() { rig.set(index, for: key) }
        rig.fail(try #require(rig.take()))
        #expect(rig.batches.isEmpty && rig.pending.count == 3)
        rig.set(9, for: "b")
        rig.advance(.milliseconds(49))
        #expect(rig.batches.isEmpty)
        rig.advance(.milliseconds(51))
        // Three were too many: one each.
        #expect(rig.batches.map { $0.writes.count } == [1, 1])
        let (first, second) = (try #require(rig.take()), try #require(rig.take()))
        let written = (first.writes + second.writes).map { "\($0.key) \($0.entry.value ?? -1)" }
        rig.succeed(first)
        rig.succeed(second)
        let third = try #require(rig.take())
        #expect(Set(written + third.writes.map { "\($0.key) \($0.entry.value ?? -1)" }) == ["a 0", "b 9", "c 2"])
        rig.succeed(third)
        #expect(rig.pending.isEmpty && rig.pending.counts.failed == 3 && rig.pending.counts.coalesced == 1)
    }

    @Test("a write under way that fails gives way to a later one, and hands on who waits for it")
    func overtaken() throws {
        let rig = Rig { $0.backOff = .milliseconds(10) ... .milliseconds(10) }
        rig.set(1, for: "a")
        rig.advance(.milliseconds(100))
        let first = try #require(rig.take())
        #expect(rig.wait(77))
        rig.set(2, for: "a")
        #expect(rig.wait(78))
        rig.fail(first)
        #expect(rig.finished.isEmpty)
        rig.advance(.milliseconds(10))
        let second = try #require(rig.take())
        #expect(second.writes.map(\.entry.value) == [2])
        rig.succeed(second)
        #expect(Set(rig.finished.map(\.waiter)) == [77, 78] && rig.finished.allSatisfy { $0.error == nil })
    }

    @Test("a source that fails twice in a row gets one batch at a time after growing pauses, until one succeeds")
    func down() throws {
        let rig = Rig {
            $0.batch = 1
            $0.concurrency = 3
            $0.backOff = .seconds(1) ... .seconds(8)
        }
        for key in ["a", "b", "c", "d", "e", "f"] { rig.set(1, for: key) }
        #expect(rig.batches.count == 3)
        let (first, second, third) = (rig.take(), rig.take(), rig.take())
        rig.fail(try #require(first))
        // Once is chance.
        #expect(rig.batches.count == 1)
        rig.fail(try #require(second))
        rig.fail(try #require(third))
        rig.fail(try #require(rig.take()))
        #expect(rig.batches.isEmpty)
        rig.advance(.milliseconds(1_900))
        #expect(rig.batches.isEmpty)
        rig.advance(.milliseconds(2_100))
        #expect(rig.batches.count == 1)
        rig.succeed(try #require(rig.take()))
        #expect(rig.batches.count == 3)
    }

    @Test("a call that does not end when its time is over keeps its keys to itself, and no others from the source")
    func hanging() throws {
        let rig = Rig {
            $0.batch = 1
            $0.concurrency = 1
            $0.timeout = .seconds(10)
            $0.backOff = .seconds(1) ... .seconds(8)
        }
        rig.set(1, for: "a")
        let hanging = try #require(rig.take())
        rig.set(2, for: "b")
        rig.set(3, for: "a")
        rig.advance(.milliseconds(12_900))
        #expect(rig.batches.isEmpty)
        rig.advance(.milliseconds(100))
        let other = try #require(rig.take())
        #expect(other.writes.map(\.key) == ["b"])
        rig.succeed(other)
        rig.advance(.seconds(10))
        // The second write of a key never runs beside the first.
        #expect(rig.batches.isEmpty && rig.pending.count == 1)
        rig.fail(hanging)
        // It has failed once, and not twice.
        #expect(rig.pending.failuresInARow == 0)
        rig.advance(.seconds(8))
        #expect(try #require(rig.take()).writes.map(\.entry.value) == [3])
    }

    @Test("what has failed for too long, or for good, is given up; so is what never had its turn")
    func givingUp() throws {
        let rig = Rig {
            $0.batch = 1
            $0.givenUpAfter = .seconds(10)
            $0.backOff = .seconds(4) ... .seconds(4)
        }
        rig.set(1, for: "a")
        var lost: [Pending.Write] = []
        var attempts = 0
        while lost.isEmpty, attempts < 20 {
            guard let batch = rig.take() else {
                rig.advance(.milliseconds(500))
                continue
            }
            attempts += 1
            lost = rig.fail(batch)
        }
        #expect(lost.map(\.key) == ["a"] && (3...5).contains(attempts) && lost.first?.attempts == attempts)
        #expect(rig.pending.isEmpty && rig.pending.counts.givenUp == 1)
        let strict = Rig {
            $0.batch = 1
            $0.isTransient = { !($0 is Failure) }
        }
        strict.set(1, for: "a")
        #expect(strict.fail(try #require(strict.take())).count == 1)
        let starved = Rig {
            $0.batch = 1
            $0.concurrency = 1
            $0.givenUpAfter = .seconds(10)
        }
        starved.set(1, for: "a")
        starved.set(2, for: "b")
        _ = try #require(starved.take())
        starved.advance(.seconds(9))
        #expect(starved.batches.isEmpty)
        starved.advance(.seconds(2))
        let late = try #require(starved.take())
        #expect(late.isLost && late.writes.map(\.key) == ["b"])
    }

    @Test("keys and costs have limits; who waits for room gets it in turn, or is refused in time")
    func room() throws {
        let rig = Rig {
            $0.batch = 1
            $0.concurrency = 1
            $0.limit = 2
            $0.costLimit = 10
        }
        #expect(rig.set(1, for: "a", cost: 4))
        #expect(rig.set(2, for: "b", cost: 4))
        // A key that has a write already takes no place, but its cost counts.
        #expect(rig.set(3, for: "b", cost: 6))
        #expect(!rig.set(4, for: "b", cost: 7))
        #expect(!rig.set(5, for: "c"))
        let end = rig.now.advanced(by: .seconds(1))
        #expect(!rig.begin(6, "c", as: 71, until: end))
        #expect(!rig.begin(7, "d", as: 72, until: end))
        #expect(!rig.begin(8, "e", as: 73, until: end.advanced(by: .seconds(1))))
        rig.pending.leave(72)
        rig.advance(.milliseconds(10))
        #expect(rig.admitted.isEmpty)
        rig.succeed(try #require(rig.take()))
        #expect(rig.admitted == [71])
        rig.advance(.seconds(3))
        #expect(rig.refused == [73] && rig.pending.counts.refused == 1)
        // More than all of it waits until it is alone.
        let wide = Rig { $0.costLimit = 10 }
        #expect(wide.set(1, for: "a", cost: 100))
        #expect(!wide.set(2, for: "b", cost: 1))
    }

    @Test("another instance's value is written next, unless this one has a later one itself")
    func adopting() throws {
        let rig = Rig { $0.batch = 1 }
        rig.set(1, for: "a", cost: 3)
        let first = try #require(rig.take())
        #expect(rig.wait(71))
        var other = Entry(value: 7)
        other.version = .late()
        rig.pending.succeeded()
        rig.pending.adopt(other, afterWriting: first.writes[0], of: first, at: rig.now)
        rig.pending.end(first)
        rig.advance()
        let second = try #require(rig.take())
        #expect(second.writes.map(\.entry.value) == [7] && rig.finished.isEmpty)
        rig.set(2, for: "a", cost: 2)
        rig.pending.adopt(other, afterWriting: second.writes[0], of: second, at: rig.now)
        rig.pending.end(second)
        rig.advance()
        let third = try #require(rig.take())
        #expect(third.writes.map(\.entry.value) == [2] && rig.finished.map(\.waiter) == [71])
        rig.succeed(third)
        #expect(rig.pending.isEmpty && rig.pending.statistics(at: rig.now).pendingCost == 0)
    }

    @Test("at the end all that waits is given up, and what does not end is dropped")
    func ending() throws {
        let rig = Rig {
            $0.batch = 1; $0.concurrency = 1
        }
        for key in ["a", "b", "c"] { rig.set(1, for: key) }
        let stuck = try #require(rig.take())
        #expect(rig.wait(71))
        rig.pending.giveUp()
        rig.advance()
        let lost = try #require(rig.take())
        #expect(lost.isLost && Set(lost.writes.map(\.key)) == ["b", "c"])
        for write in lost.writes { rig.pending.end(write, of: lost, .givenUp(Failure())) }
        let dropped = rig.pending.abandonAll(Failure())
        #expect(dropped.map(\.key) == ["a"])
        rig.advance()
        #expect(rig.pending.isEmpty && rig.finished.map(\.waiter) == [71] && rig.pending.counts.givenUp == 3)
        // Its late end does no harm.
        rig.succeed(stuck)
        #expect(rig.pending.counts.written == 0)
        rig.set(2, for: "a")
        #expect(rig.fail(try #require(rig.take())).count == 1)
    }

    @Test("at the end what fails is given up as the value that was set last")
    func endingLater() throws {
        let rig = Rig { $0.batch = 1 }
        rig.set(1, for: "a")
        let first = try #require(rig.take())
        rig.set(2, for: "a")
        rig.pending.giveUp()
        rig.advance()
        #expect(rig.fail(first).map(\.entry.value) == [2])
        #expect(rig.pending.isEmpty && rig.pending.statistics(at: rig.now).pendingCost == 0)
    }

    @Test("random changes: what was taken ends with its last value written, or is given up; nothing is left behind")
    func walk() throws {
        for _ in 0..<40 {
            let seed = UInt64.random(in: 0 ... .max)
            print("seed of PendingWritesTests.walk: \(seed)")
            var random = SplitMix64(seed: seed)
            let rig = Rig {
                $0.batch = .random(in: 1...4, using: &random)
                $0.concurrency = .random(in: 1...3, using: &random)
                $0.limit = 6
                $0.costLimit = 40
                $0.backOff = .milliseconds(5) ... .milliseconds(40)
                $0.givenUpAfter = .seconds(3)
                $0.isTransient = { _ in true }
            }
            var source: [String: Int] = [:]
            var last: [String: Int] = [:]
            var lost: [String: Set<Int>] = [:]
            var open: [Pending.Batch] = []
            var waiting: Set<UInt64> = []
            var next = 0
            func check() {
                for (key, place) in rig.pending.places { #expect(!place.isEmpty, "\(key)") }
                #expect(rig.pending.count <= 6)
                let costs = rig.pending.places.values.reduce(0) { sum, place in
                    [place.setting, place.waiting, place.underWay].reduce(sum) { $0 + ($1?.cost ?? 0) }
                }
                #expect(rig.pending.statistics(at: rig.now).pendingCost == costs)
                for batch in open {
                    for write in batch.writes {
                        #expect(open.count { $0.writes.contains { $0.key == write.key } } == 1)
                    }
                }
            }
            func work(_ batch: Pending.Batch, fails: Bool) {
                open.removeAll { $0.number == batch.number }
                if batch.isLost || fails {
                    let writes =
                        batch.isLost
                        ? batch.writes
                        : rig.pending.failed(batch.writes, of: batch, Failure(), isLasting: false, at: rig.now)
                    for write in writes where rig.pending.end(write, of: batch, .givenUp(Failure())) {
                        lost[write.key, default: []].insert(write.entry.value ?? -1)
                    }
                } else {
                    for write in batch.writes { source[write.key] = write.entry.value }
                    rig.pending.succeeded()
                    for write in batch.writes { rig.pending.end(write, of: batch, .written) }
                }
                rig.pending.end(batch)
                rig.advance()
            }
            for step in 0..<300 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let key = "k\(Int.random(in: 0..<8, using: &random))"
                    next += 1
                    if rig.set(next, for: key, cost: .random(in: 0...9, using: &random)) { last[key] = next }
                case 5:
                    let waiter = UInt64(1_000_000 + step)
                    if rig.wait(waiter) { waiting.insert(waiter) }
                    rig.advance()
                case 6: rig.advance(.milliseconds(.random(in: 0...60, using: &random)))
                default:
                    if let batch = open.randomElement(using: &random) {
                        work(batch, fails: Int.random(in: 0..<3, using: &random) == 0)
                    }
                }
                while let batch = rig.take() { open.append(batch) }
                check()
            }
            while !rig.pending.isEmpty {
                while let batch = rig.take() { open.append(batch) }
                if let batch = open.first { work(batch, fails: false) } else { rig.advance(.milliseconds(10)) }
                check()
            }
            for (key, value) in last where source[key] != value {
                #expect(lost[key]?.contains(value) == true, "\(key)")
            }
            #expect(Set(rig.finished.map(\.waiter)) == waiting && rig.finished.count == waiting.count)
            #expect(rig.pending.lined == 0 && rig.pending.resting.isEmpty && rig.pending.waiters.isEmpty)
        }
    }
}
