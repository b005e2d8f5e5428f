import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

// Writes that a later one of another instance has overtaken.
extension RedisWritingBehindTests {
    @Test("a later value of another instance is written in the place of one that has not gone yet")
    func overtakenBefore() async throws {
        try await withTwo { one, other, _ in
            let first = writer(to: one.cache.base) { $0.delay = .seconds(600) }
            try await first.set([2], for: "k")
            let gate = try await setHeld([3], by: other)
            while try await first.get("k") != [3] { try await nextTurn() }
            try await first.flush()
            #expect(source.writes == [[3]] && first.statistics.adopted == 1)
            gate.open()
            try await other.cache.flush()
            #expect(source.values == ["k": [3]])
            #expect(try await one.stored() == [3])
        }
    }

    @Test("one that a newer release has overtaken, whose value this one cannot read, is not written over that")
    func overtakenByNewer() async throws {
        try await RedisServer.withServer { server in
            let older = try ListInstance(server.url, keyspace, schema: 1)
            let newer = try ListInstance(server.url, keyspace, schema: 2)
            let first = writer(to: reader(older)) { $0.delay = .seconds(600) }
            let second = writer(to: reader(newer))
            try await first.set([2], for: "k")
            try await second.set([3], for: "k")
            try await second.flush()
            try await first.flush()
            #expect(source.writes == [[3]] && source.values == ["k": [3]])
            #expect(try await newer.level.get("k") == [3])
        }
    }

    @Test(
        "a write that lands after a later one of another instance is followed by that one's value",
        arguments: [0, 1]
    )
    func overtakenMeanwhile(which: Int) async throws {
        try await withTwo { one, other, _ in
            // The first is held after the look, before its value is written.
            let gate = try await setHeld([2], by: one)
            if which == 0 { try await other.cache.set([3], for: "k") } else { try await other.cache.delete("k") }
            try await other.cache.flush()
            gate.open()
            try await one.cache.flush()
            let last: [Int]? = which == 0 ? [3] : nil
            #expect(source.writes == [last, [2], last])
            #expect(source.values["k"] == last && one.cache.statistics.adopted == 1)
            #expect(try await one.stored() == last)
            #expect(try await one.cache.get("k") == last)
        }
    }
}
