import StrataTesting
import Testing

@testable import Strata

@Suite("A key that fails in a batch costs no other key anything", .timeLimit(.minutes(5)))
struct PerKeyFailureTests {
    private let log = CallLog()

    /// `bad` fails so often, `none` has no value.
    private func source(failing times: Int = .max) -> ClosureFetcher<String, Int> {
        ClosureFetcher { [log] key in
            log.add(key)
            if key == "bad", log.calls.count(where: { $0 == key }) <= times { throw ProbeLevel.Failure(name: key) }
            return key == "none" ? nil : key.count
        }
    }

    private func expectCalls(_ calls: [String: Int]) {
        #expect(Dictionary(grouping: log.calls) { $0 }.mapValues(\.count) == calls)
    }

    private let keys = ["a", "bad", "none", "bb"]
    private let once = ["a": 1, "bad": 1, "none": 1, "bb": 1]

    @Test("recovered by a closure: it answers for the key that has failed, and none is asked for again")
    func recovered() async throws {
        let level = source()
            .recover { key, error in
                error as? ProbeLevel.Failure == .init(name: key) ? 100 : nil
            }
        #expect(try await level.get(keys) == [1, 100, nil, 2])
        #expect(level.recovered == 1)
        expectCalls(once)
    }

    @Test("recovered by another level: it is asked for the key that has failed")
    func fallingBack() async throws {
        let other = BatchProbe(["bad": 100, "none": 100])
        let level = source().recover(with: other)
        #expect(try await level.get(keys) == [1, 100, nil, 2])
        #expect(other.batches == [["bad"]])
        expectCalls(once)
    }

    @Test(
        "one whose source ends with a cancellation of its own is not recovered, and ends no batch that leaves failures out"
    )
    func ownCancellation() async throws {
        let other = BatchProbe(["bad": 100, "off": 100])
        let level = ClosureFetcher<String, Int> { key in
            if key == "off" { throw CancellationError() }
            if key == "bad" { throw ProbeLevel.Failure(name: key) }
            return key.count
        }
        .recover(with: other)
        #expect(try await level.batchGetSome(["a", "off", "bad", "bb"]) == [1, 100, 2])
        #expect(other.batches == [["bad"]])
        await #expect(throws: CancellationError.self) { try await level.get(["a", "off", "bad"]) }
    }

    @Test("a switch one of whose branches has failed: the other's misses are misses")
    func switched() async throws {
        let (broken, other) = (BatchProbe(), BatchProbe(["x": 1, "xx": 2, "y": 3]))
        broken.inner.failGets("broken")
        let switched = switchLevels(broken, BatchProbe(["yy": 4])) { key in key.hasPrefix("x") ? .first : .second }
        #expect(try await switched.recover(with: other).get(["x", "y", "yy", "xx"]) == [1, nil, 4, 2])
        #expect(other.batches == [["x", "xx"]])
    }

    @Test("so they are where the branch that has failed is a cache")
    func switchedCache() async throws {
        let (broken, other) = (BatchProbe(), BatchProbe(["x": 1, "xx": 2, "y": 3]))
        broken.inner.failGets("broken")
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(broken)
        let switched = switchLevels(cache, BatchProbe(["yy": 4])) { key in key.hasPrefix("x") ? .first : .second }
        #expect(try await switched.recover(with: other).get(["x", "y", "yy", "xx"]) == [1, nil, 4, 2])
        #expect(other.batches == [["x", "xx"]])
    }

    @Test("retried: the key that has failed is tried again, and no other")
    func retried() async throws {
        let level = source(failing: 2).retry(RetryPolicy(times: 5, delay: .zero))
        #expect(try await level.get(keys) == [1, 3, nil, 2])
        #expect(level.retried == 2)
        expectCalls(["a": 1, "bad": 3, "none": 1, "bb": 1])
    }

    @Test("retried in vain where a batch fails as a whole: old values stand, and what answers for failures is asked")
    func retriedAsAWhole() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(16))
        let hanging = Source<String, Int> { _ in
            try await Task.pause(for: .seconds(3_600))
            return nil
        }
        let level = hanging.timeout(.milliseconds(1)).retry(RetryPolicy(times: 1, delay: .zero))
        for (key, value) in [("a", 1), ("b", 2)] {
            let past = MonotonicInstant.now.advanced(by: .seconds(-1))
            try await memory.store(
                Entry(.value(value), freshUntil: past, staleUntil: past.advanced(by: .seconds(60))),
                for: key
            )
        }
        #expect(try await memory.compose(level).get(["a", "b"]) == [1, 2])
        #expect(memory.resident("a", at: .now) == nil && memory.statistics.entries == 2)
        #expect(try await level.recover { _, _ in 7 }.get(["a", "b"]) == [7, 7])
        await #expect(throws: CacheError.self) { try await level.collecting(within: .zero).get("a") }
    }

    @Test("retried in vain: a strict batch throws, one that leaves out failures has the others")
    func retriedInVain() async throws {
        let level = source().retry(RetryPolicy(times: 2, delay: .zero))
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await level.get(keys) }
        #expect(try await level.batchGetSome(keys) == [1, 2])
        expectCalls(["a": 2, "bad": 6, "none": 2, "bb": 2])
    }

    @Test("retried: an error that is not worth it ends its own key, and no other, where failures are left out")
    func retriedApart() async throws {
        let level = ClosureFetcher<String, Int> { [log] key in
            log.add(key)
            if key == "bad" || key == "weak" && log.calls.count(where: { $0 == key }) < 3 {
                throw ProbeLevel.Failure(name: key)
            }
            return key.count
        }
        .retry(RetryPolicy(times: 5, delay: .zero)) { $0 as? ProbeLevel.Failure != .init(name: "bad") }
        #expect(try await level.batchGetSome(["bad", "weak", "c"]) == [4, 1])
        expectCalls(["bad": 1, "weak": 3, "c": 1])
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await level.get(["bad", "weak"]) }
    }

    @Test("pooled: no read gets another key's failure, and no key is asked for again")
    func pooled() async throws {
        #expect(try await source().pooled().batchGetSome(keys) == [1, 2])
        expectCalls(once)
    }

    @Test("where keys have other names below, of another type or the same, a failure is that of its key above")
    func renamed() async throws {
        let level = source().transformKeys { (key: Substring) in String(key) }.recover { _, _ in 100 }
        #expect(try await level.get(keys.map { $0[...] }) == [1, 100, nil, 2])
        expectCalls(once)
        let turned = source()
            .transformKeys { (key: String) in key == "x" ? "bad" : key == "bad" ? "a" : key }
        #expect(try await turned.recover { key, _ in key == "x" ? 100 : nil }.get(["x", "bad", "bb"]) == [100, 1, 2])
        #expect(try await turned.batchGetSome(["x", "bad"]) == [1])
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await turned.pooled().get(["x", "bad"]) }
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await turned.collecting().get("x") }
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await turned.retry(.init(times: 1)).get(["x"]) }
    }

    @Test("a key whose read is cancelled is left out where failures are, also beside one with an old value")
    func cancelled() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(9))
        let cache = memory.compose(
            ClosureFetcher<String, Int> { key in
                if key == "b" { throw CancellationError() }
                return 2
            }
        )
        let now = MonotonicInstant.now
        try await memory.store(Entry(.value(1), freshUntil: now, staleUntil: now.advanced(by: .seconds(60))), for: "a")
        #expect(try await cache.batchGetSome(["a", "b"]) == [2])
        #expect(memory.resident("a", at: .now)?.value == 2)
    }

    @Test("reads that go down together: a condition is asked once for each key, also when one fails")
    func collected() async throws {
        let asked = CallLog()
        let level =
            source()
            .conditioned { key in
                asked.add(key)
                return key != "bb"
            }
            .collecting(within: .milliseconds(50))
        let reads = keys.map { key in Task { () async throws -> Int? in try await level.get(key) } }
        #expect(try await reads[0].value == 1)
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await reads[1].value }
        #expect(try await reads[2].value == nil)
        let error = await #expect(throws: CacheError.self) { try await reads[3].value }
        #expect(error?.code == .conditionNotSatisfied)
        #expect(asked.calls.sorted() == keys.sorted())
        expectCalls(["a": 1, "bad": 1, "none": 1])
    }

    @Test("a condition that was asked for what memory has is not asked again")
    func answered() async throws {
        let asked = CallLog()
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(1, for: "k")
        let level =
            memory.conditioned { key in
                asked.add(key)
                return false
            }
            .collecting(within: .milliseconds(1))
        let error = await #expect(throws: CacheError.self) { try await level.get("k") }
        #expect(error?.code == .conditionNotSatisfied)
        #expect(asked.calls == ["k"])
    }
}
