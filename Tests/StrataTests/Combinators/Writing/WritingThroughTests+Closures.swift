import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

// What closures change themselves while a value is written.
extension WritingThroughTests {
    @Test("what a closure removes elsewhere while a value is written and not cached, is removed and not written")
    func removalInside() async throws {
        let cache = cache
        try await cache.set(1, for: "other")
        let closures = ClosureLevel<String, Int>(
            get: { _ in nil },
            set: { _, _ in },
            remove: { _ in try await cache.remove("other") }
        )
        try await closures.set(2, for: "k", lifetime: EntryLifetime(freshFor: .zero))
        #expect(source.values["other"] == 1)
        #expect(try await memory.get("other") == nil)
    }

    @Test("what a listener of memory removes is removed, in whatever call memory has removed something")
    func removalListener() async throws {
        let (cache, source) = (cache, source)
        try await cache.set(1, for: "other")
        let tasks = Locked<[Task<Void, any Error>]>([])
        let listening = MemoryLevel<String, Int>(limit: .entries(10)) { removal in
            guard removal.key == "k" else { return }
            let task = Task { try await cache.remove("other") }
            tasks.withLock { $0.append(task) }
        }
        let above = listening.compose(writer(to: MemoryLevel(limit: .entries(10))))
        try await above.set(1, for: "k")
        try await above.set(2, for: "k", lifetime: EntryLifetime(freshFor: .zero))
        for task in tasks.withLock({ $0 }) { try await task.value }
        #expect(source.values == ["other": 1, "k": 2])
        #expect(try await memory.get("other") == nil)
    }

    @Test("a listener of memory is part of no call: neither of a deferred clear nor of a change of the limit")
    func listenerOfNoCall() async throws {
        let isInside = Locked<[Bool]>([])
        let listening = MemoryLevel<String, Int>(limit: .entries(10)) { _ in
            isInside.withLock { $0.append(RemovalCall.current != nil || UncachedWrite.value != nil) }
        }
        func shrink() { UncachedWrite.$value.withValue(3) { listening.resize(to: 0) } }
        try await listening.set(1, for: "k")
        try await listening.clear(.deferred)
        #expect(isInside.withLock { $0 } == [false])
        try await listening.set(2, for: "k")
        shrink()
        #expect(isInside.withLock { $0 } == [false, false])
    }

    @Test("a closure that sets or deletes its own key in the cache is told so, and may set others and forget this one")
    func writesItself() async throws {
        let (memory, source) = (memory, source)
        let codes = Locked<[CacheError.Code?]>([])
        let outer = Locked<WritingThrough<MemoryLevel<String, Int>>?>(nil)
        let cache = memory.writing { key, value in
            try await source.write(key, value)
            guard key == "k", let cache = outer.withLock({ $0 }) else { return }
            let set = await #expect(throws: CacheError.self) { try await cache.set(7, for: "k") }
            let delete = await #expect(throws: CacheError.self) { try await cache.delete("k") }
            codes.withLock { $0 += [set?.code, delete?.code] }
            try await cache.set(8, for: "other")
            try await cache.remove("k")
            // Another cache with the same key is another matter.
            try await memory.writing { _, _ in }.set(9, for: "k")
        }
        outer.withLock { $0 = cache }
        try await cache.set(2, for: "k")
        #expect(codes.withLock { $0 } == [.writesItself, .writesItself])
        #expect(source.values == ["k": 2, "other": 8])
        // What the closure has begun, and has not waited for, may go on when it has ended.
        let later = Locked<Task<Void, any Error>?>(nil)
        let gate = AsyncGate()
        let leaving = memory.writing { key, value in
            guard value == 3 else { return }
            let cache = outer.withLock { $0 }
            let task = Task {
                try await gate.pass()
                try await cache?.set(4, for: key)
            }
            later.withLock { $0 = task }
        }
        outer.withLock { $0 = leaving }
        try await leaving.set(3, for: "k")
        gate.open()
        try await later.withLock { $0 }?.value
        #expect(try await memory.get("k") == 4)
    }
}
