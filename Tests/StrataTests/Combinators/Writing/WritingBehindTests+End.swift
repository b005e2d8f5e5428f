import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

/// Drains, caches without references, callers that are cancelled.
extension WritingBehindTests {
    @Test("at the end all is written; from then on a set waits for the source")
    func draining() async throws {
        let cache = writer(to: memory) { $0.delay = .seconds(600) }
        for number in 0..<20 { try await cache.set(number, for: "k\(number)") }
        #expect(source.writes.isEmpty)
        await cache.drain(within: .seconds(60))
        #expect(source.writes.count == 20 && lost.isEmpty)
        try await cache.set(7, for: "k")
        #expect(source.values["k"] == 7)
        source.fail(.before)
        let error = await #expect(throws: CacheError.self) { try await cache.set(8, for: "k") }
        #expect(error?.code == .notWritten && lost.all.count == 1)
        #expect(try await cache.get("k") == nil)
    }

    @Test("what says whether an error passes may ask the cache")
    func askingMeanwhile() async throws {
        let pending = Locked<(@Sendable () -> Int)?>(nil)
        let seen = Locked<[Int]>([])
        let cache = writer(to: memory) {
            $0.isTransient = { _ in
                let count = pending.withLock { $0 }?() ?? -1
                seen.withLock { $0.append(count) }
                return false
            }
        }
        pending.withLock { $0 = { cache.statistics.pending } }
        source.fail(.before)
        try await cache.set(2, for: "k")
        while lost.isEmpty { try await nextTurn() }
        #expect(seen.withLock { $0 } == [1])
        pending.withLock { $0 = nil }
    }

    @Test("what is set during a drain has its whole limit, too")
    func setWhileDraining() async throws {
        let cache = writer(to: memory) { $0.delay = .seconds(600) }
        let (first, second) = (AsyncGate(), AsyncGate())
        source.holdNextWrite(before: first)
        try await cache.set(1, for: "a")
        let drain = Task { await cache.drain(within: .seconds(60)) }
        await first.arrivals()
        source.holdNextWrite(before: second)
        let set = Task { try await cache.set(2, for: "b") }
        await second.arrivals()
        first.open()
        while source.values["a"] == nil || cache.statistics.pending > 1 { try await nextTurn() }
        // A drain that has ended would give up the other.
        for _ in 0..<100 { try await nextTurn() }
        second.open()
        try await set.value
        await drain.value
        #expect(source.values == ["k": 1, "a": 1, "b": 2] && lost.isEmpty)
    }

    @Test("what a drain cannot write it gives up and tells; a source that hangs does not hold it")
    func drainingLate() async throws {
        let cache = writer(to: memory) {
            $0.concurrency = 1
            $0.delay = .seconds(600)
        }
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(1, for: "a")
        try await cache.set(2, for: "b")
        let drain = Task { await cache.drain(within: .milliseconds(1)) }
        await drain.value
        #expect(Set(lost.all.map(\.key)) == ["a", "b"] && cache.statistics.pending == 0)
        #expect(memory.resident("b", at: .coarse) == nil)
        gate.open()
        // A source that ignores its cancellation.
        let stuck = AsyncGate()
        let ignoring = memory.writingBehind(Self.patient) { [lost] in
            lost.add($0)
        } write: { _, _ in
            await Task.detached { try? await stuck.pass() }.value
        }
        try await ignoring.set(3, for: "c")
        await stuck.arrivals()
        await ignoring.drain(within: .zero)
        #expect(lost.all.last?.key == "c" && ignoring.statistics.pending == 0)
        #expect(memory.resident("c", at: .coarse) == nil)
        stuck.open()
    }

    @Test("a drain gives up what waits behind a write that does not end, too, and the cache forgets it")
    func drainingLater() async throws {
        let cache = writer(to: memory) { $0.backOff = .seconds(600) ... .seconds(600) }
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(1, for: "k")
        await gate.arrivals()
        try await cache.set(2, for: "k")
        await cache.drain(within: .milliseconds(1))
        // The first, too, where its task does not get to end in the moment that it has for that.
        #expect(lost.all.last?.value == 2 && cache.statistics.pending == 0)
        #expect(memory.resident("k", at: .coarse) == nil)
        gate.open()
    }

    @Test("who waits for a write that a drain ends hears that it was not made in time")
    func endedByDrain() async throws {
        let cache = writer(to: memory)
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(1, for: "k")
        await gate.arrivals()
        let flush = Task { try await cache.flush() }
        while cache.queue.state.withLock({ $0.waits.isEmpty }) { try await nextTurn() }
        await cache.drain(within: .milliseconds(1))
        let error = await #expect(throws: CacheError.self) { try await flush.value }
        #expect(error?.code == .notWritten && (error?.causes.first as? CacheError)?.code == .timeout)
        #expect(lost.all.count == 1 && (lost.all.first?.error as? CacheError)?.code == .timeout)
        gate.open()
    }

    @Test("a closure that says that it was cancelled has failed, and its callers were not cancelled")
    func closureCancelsItself() async throws {
        let cache = memory.writingBehind(Self.patient) { [lost] in
            lost.add($0)
        } write: { _, _ in
            throw CancellationError()
        }
        // From now on a set waits for the source.
        await cache.drain(within: .zero)
        let error = await #expect(throws: CacheError.self) { try await cache.set(2, for: "k") }
        #expect(error?.code == .notWritten && error?.causes.first is CancellationError)
        #expect(lost.all.first?.error is CancellationError)
    }

    @Test("a value that is replaced while it waits may cancel who waits for the queue when it is released")
    func released() async throws {
        let gate = AsyncGate()
        let cache = MemoryLevel<String, Farewell>(limit: .entries(10))
            .writingBehind(Self.patient, lost: { _ in }, write: { _, _ in try await gate.pass() })
        try await cache.set(Farewell(), for: "k")
        await gate.arrivals()
        let flush = Task { try await cache.flush() }
        while cache.queue.state.withLock({ $0.waits.isEmpty }) { try await nextTurn() }
        let freed = AsyncStream.makeStream(of: Void.self)
        // It waits behind the one that is under way.
        try await cache.set(
            Farewell {
                flush.cancel()
                freed.continuation.yield()
            },
            for: "k"
        )
        // In a task of its own: one that waits for a lock of its own does not end.
        let set = Task.detached { try await cache.set(Farewell(), for: "k") }
        var farewells = freed.stream.makeAsyncIterator()
        try #require(await farewells.next() != nil)
        await #expect(throws: CancellationError.self) { try await flush.value }
        try await set.value
        gate.open()
        try await cache.flush()
    }

    @Test("a cache without references still writes what it has accepted")
    func abandoned() async throws {
        do {
            let cache = writer(to: MemoryLevel<String, Int>(limit: .entries(10))) { $0.delay = .milliseconds(20) }
            try await cache.set(5, for: "k")
        }
        while source.values != ["k": 5] { try await nextTurn() }
    }

    @Test("a caller that is cancelled while it sets, or while it waits, is told so")
    func cancelled() async throws {
        let cache = writer(to: memory) { $0.delay = .seconds(600) }
        try await cache.set(2, for: "k")
        let flush = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await cache.flush()
        }
        await #expect(throws: CancellationError.self) { try await flush.value }
        let set = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await cache.set(3, for: "k")
        }
        await #expect(throws: CancellationError.self) { try await set.value }
        try await cache.flush()
        #expect(source.values == ["k": 2])
    }
}
