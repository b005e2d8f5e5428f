import Strata
import Testing

@testable import StrataRedis

@Suite("Invalidations that are kept")
struct PendingInvalidationsTests {
    private let keyspace: Keyspace = "test"
    private func instant(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }
    private func names(_ key: Int) -> KeyNames { keyspace.names(for: key.keyBytes) }
    private func target(_ key: Int) -> PendingInvalidations.Target { .key(names(key), keyspace) }

    @Test("the newest of a key is kept; settling an older one changes nothing")
    func newest() throws {
        var pending = PendingInvalidations(limit: 10)
        pending.record(target(1), .removal, at: instant(0), for: .seconds(100))
        let first = try #require(pending.inOrder.first)
        pending.record(target(1), .write, at: instant(5), for: .seconds(10))
        let second = try #require(pending.inOrder.first)
        #expect(pending.count == 1)
        #expect(second.madeAt == instant(5))
        #expect(second.expiresAt == instant(100), "what the first one could remove still lives")
        #expect(second.rank == .removal)
        let older = pending.settle(first)
        #expect(!older)
        #expect(pending.reach(over: names(1), keyspace) == .everything)
        let newer = pending.settle(second)
        #expect(newer)
        #expect(pending.reach(over: names(1), keyspace) == .nothing)
        #expect(pending.isEmpty && pending.inOrder.isEmpty)
    }

    @Test("without room the one that expires first goes, a failed write before any removal")
    func eviction() {
        var pending = PendingInvalidations(limit: 3)
        pending.record(target(1), .removal, at: instant(0), for: .seconds(10))
        pending.record(target(2), .write, at: instant(0), for: .seconds(90))
        pending.record(target(3), .removal, at: instant(0), for: .seconds(30))
        pending.record(target(4), .removal, at: instant(0), for: .seconds(20))
        #expect(pending.inOrder.map(\.target) == [target(1), target(4), target(3)])
        pending.record(target(5), .removal, at: instant(0), for: .seconds(5))
        #expect(pending.inOrder.map(\.target) == [target(1), target(4), target(3)], "it expires first itself")
        pending.record(target(6), .write, at: instant(0), for: .seconds(500))
        #expect(pending.inOrder.map(\.target) == [target(1), target(4), target(3)])
        #expect(pending.dropped == 3)
    }

    @Test("what is refused for good rests for ever longer times, by itself; a newer one of its key is tried at once")
    func refused() throws {
        var pending = PendingInvalidations(limit: 10)
        let pauses = Duration.milliseconds(100) ... .seconds(120)
        for key in 1...2 { pending.record(target(key), .removal, at: instant(0), for: .seconds(9_000)) }
        var longest = Duration.zero
        for number in 0..<20 {
            let now = instant(Int64(number) * 200)
            let intent = try #require(pending.inOrder.first { $0.target == target(1) })
            #expect(intent.restsUntil <= now)
            pending.refuse(intent, pauses: pauses, at: now)
            let rest = now.duration(to: try #require(pending.inOrder.first { $0.target == target(1) }).restsUntil)
            let whole = min(.milliseconds(100) * (1 << min(number, 20)), .seconds(120))
            #expect(rest >= whole / 2 && rest <= whole + .seconds(1))
            longest = max(longest, rest)
            #expect(pending.firstDue == .distantPast, "the other waits for nothing")
        }
        #expect(longest >= .seconds(60))
        let end = instant(19 * 200)
        #expect(pending.hasChance(by: end))
        let other = try #require(pending.inOrder.first { $0.target == target(2) })
        pending.settle(other)
        #expect(!pending.hasChance(by: end) && pending.firstDue > end)
        pending.retry(names(1), keyspace)
        #expect(pending.hasChance(by: end) && pending.firstDue == .distantPast)
        // An answer to what was superseded meanwhile says nothing of the newer one.
        let older = try #require(pending.inOrder.first)
        pending.record(target(1), .removal, at: end, for: .seconds(9_000))
        pending.refuse(older, pauses: pauses, at: end)
        #expect(pending.firstDue == .distantPast)
    }

    @Test("what was promised goes for nothing else, and there is no promise without room")
    func promised() throws {
        var pending = PendingInvalidations(limit: 3)
        func record(_ key: Int, _ rank: PendingInvalidations.Rank, _ seconds: Int) -> Bool {
            pending.record(target(key), rank, at: instant(0), for: .seconds(seconds))
        }
        #expect(record(1, .promised, 10))
        #expect(record(2, .removal, 90))
        #expect(record(3, .write, 90))
        // A write goes for it, then a removal.
        #expect(record(4, .promised, 20))
        #expect(record(5, .promised, 30))
        #expect(pending.inOrder.map(\.target) == [target(1), target(4), target(5)])
        #expect(!record(6, .promised, 500))
        #expect(!record(7, .removal, 500))
        #expect(!record(8, .write, 500))
        #expect(record(4, .removal, 500), "it is there already, and stays promised")
        #expect(record(9, .promised, 1) == false)
        #expect(pending.inOrder.map(\.target) == [target(1), target(5), target(4)])
        #expect(pending.inOrder.allSatisfy { $0.rank == .promised })
        #expect(pending.dropped == 6)
        let first = try #require(pending.inOrder.first)
        pending.settle(first)
        #expect(record(6, .promised, 500))
    }

    @Test("a clear concerns every key of its keyspace and no other")
    func clear() throws {
        var pending = PendingInvalidations(limit: 3)
        pending.record(.all(keyspace), .removal, at: instant(0), for: .seconds(10))
        #expect(pending.reach(over: names(1), keyspace) == .everything)
        let other: Keyspace = "other"
        #expect(pending.reach(over: other.names(for: 1.keyBytes), other) == .nothing)
        pending.record(.all(keyspace), .removal, at: instant(1), for: .seconds(10))
        pending.settle(try #require(pending.inOrder.first))
        #expect(pending.reach(over: names(1), keyspace) == .nothing)
    }

    @Test("a tag concerns what bears it; a clear beside it everything, for as long as it is there")
    func tag() throws {
        var pending = PendingInvalidations(limit: 3)
        pending.record(.tag(TagName("red"), keyspace), .removal, at: instant(0), for: .seconds(10))
        let reach = pending.reach(over: names(1), keyspace)
        #expect(reach == .tags([TagName("red")]))
        #expect(reach.covers(["blue", "red"]) && !reach.covers(["blue"]) && !reach.covers([]))
        pending.record(.all(keyspace), .removal, at: instant(1), for: .seconds(9))
        #expect(pending.reach(over: names(1), keyspace).covers([]))
        pending.settle(try #require(pending.inOrder.first { $0.target == .all(keyspace) }))
        #expect(pending.reach(over: names(1), keyspace) == reach)
        pending.settle(try #require(pending.inOrder.first))
        #expect(pending.reach(over: names(1), keyspace) == .nothing)
    }

    @Test("it keeps what a plain list keeps")
    func model() {
        var random = SplitMix64.announced()
        for _ in 0..<20 {
            let limit = Int.random(in: 1...8, using: &random)
            var pending = PendingInvalidations(limit: limit)
            var model: [PlainIntent] = []
            var number: UInt64 = 0
            var dropped = 0
            var now: Int64 = 0
            for _ in 0..<300 {
                now += Int64.random(in: 0...3, using: &random)
                let key = Int.random(in: 0..<12, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<6:
                    let rank: PendingInvalidations.Rank = Bool.random(using: &random) ? .removal : .write
                    let lifetime = random.once(in: 3) ? Int64.random(in: 1...50, using: &random) : 30
                    pending.record(target(key), rank, at: instant(now), for: .seconds(lifetime))
                    let old = model.first { $0.key == key }
                    model.removeAll { $0.key == key }
                    number += 1
                    model.append(
                        PlainIntent(
                            key: key,
                            rank: max(rank, old?.rank ?? rank),
                            number: number,
                            expiry: max(now + lifetime, old?.expiry ?? 0)
                        )
                    )
                    while model.count > limit {
                        model.sort(by: PlainIntent.goesFirst)
                        model.removeFirst()
                        dropped += 1
                    }
                case 6, 7:
                    let intent = pending.inOrder.randomElement(using: &random)
                    let settled = intent.map { pending.settle($0) }
                    #expect(settled != false)
                    model.removeAll { $0.number == intent?.number }
                case 8:
                    pending.expire(at: instant(now))
                    dropped += model.count { $0.expiry <= now }
                    model.removeAll { $0.expiry <= now }
                default:
                    let isThere = model.contains { $0.key == key }
                    #expect(pending.reach(over: names(key), keyspace) == (isThere ? .everything : .nothing))
                }
                #expect(pending.count == model.count)
                #expect(pending.dropped == dropped)
                #expect(Set(pending.inOrder.map(\.number)) == Set(model.map(\.number)))
                #expect(pending.inOrder.map(\.rank) == model.map(\.rank).sorted(by: >))
            }
        }
    }
}

/// An intent as the model keeps it.
private struct PlainIntent {
    var key: Int
    var rank: PendingInvalidations.Rank
    var number: UInt64
    var expiry: Int64

    static func goesFirst(_ left: PlainIntent, _ right: PlainIntent) -> Bool {
        (left.rank.rawValue, left.expiry, left.number) < (right.rank.rawValue, right.expiry, right.number)
    }
}
