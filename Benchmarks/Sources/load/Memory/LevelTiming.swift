import CAllocations
import Strata
import Synchronization

/// What loops over a level's operations take.
///
/// Times are the thread's own, in nanoseconds an operation.
///
/// Nothing here suspends while the clock runs, since memory answers on the spot.
enum LevelTiming {
    /// Gets every key.
    @inline(never)
    static func reads<Level: CacheLevel>(_ level: Level, _ keys: [Level.Key], found: Bool = true) async throws -> Double
    {
        var count = 0
        let start = ThreadTime.nanoseconds
        for key in keys where try await level.get(key) != nil { count += 1 }
        let end = ThreadTime.nanoseconds
        precondition(count == (found ? keys.count : 0), "\(count) of \(keys.count) keys were there")
        return (end - start) / Double(keys.count)
    }

    /// Gets every key by a call that brings a source, which is not asked.
    @inline(never)
    static func reads<Level: SourcedLevel>(
        _ level: Level,
        _ keys: [Level.Key],
        or value: Level.Value
    ) async throws -> Double {
        let start = ThreadTime.nanoseconds
        for key in keys {
            let found: Level.Value = try await level.get(key) { value }
            _ = found
        }
        return (ThreadTime.nanoseconds - start) / Double(keys.count)
    }

    /// The same at a bare dictionary.
    @inline(never)
    static func reads<Key, Value>(bare: StripedDictionary<Key, Value>, _ keys: [Key], found: Bool = true) -> Double {
        var count = 0
        let start = ThreadTime.nanoseconds
        for key in keys where bare[key] != nil { count += 1 }
        let end = ThreadTime.nanoseconds
        precondition(count == (found ? keys.count : 0))
        return (end - start) / Double(keys.count)
    }

    /// Sets every key, for `lifetime` if one is given.
    @inline(never)
    static func writes<Level: CacheLevel>(
        _ level: Level,
        _ keys: [Level.Key],
        _ value: Level.Value,
        lifetime: Duration? = nil
    ) async throws -> Double {
        let start = ThreadTime.nanoseconds
        if let lifetime {
            for key in keys {
                try await level.store(Entry(.value(value), freshUntil: .coarse.advanced(by: lifetime)), for: key)
            }
        } else {
            for key in keys { try await level.set(value, for: key) }
        }
        return (ThreadTime.nanoseconds - start) / Double(keys.count)
    }

    /// Sets every key of a memory level.
    @inline(never)
    static func writes<Key, Value>(_ level: MemoryLevel<Key, Value>, _ keys: [Key], _ value: Value) async throws
        -> Double
    {
        let start = ThreadTime.nanoseconds
        for key in keys { try await level.set(value, for: key) }
        return (ThreadTime.nanoseconds - start) / Double(keys.count)
    }

    /// The same at a bare dictionary.
    @inline(never)
    static func writes<Key, Value>(bare: StripedDictionary<Key, Value>, _ keys: [Key], _ value: Value) -> Double {
        let start = ThreadTime.nanoseconds
        for key in keys { bare[key] = value }
        return (ThreadTime.nanoseconds - start) / Double(keys.count)
    }

    /// How often memory was asked for while all keys were read; `nil` if that cannot be told.
    static func allocations<Level: CacheLevel>(_ level: Level, _ keys: [Level.Key]) async throws -> Int? {
        let before = strata_allocations()
        _ = try await reads(level, keys)
        let after = strata_allocations()
        return before < 0 ? nil : after - before
    }

    /// How often memory was asked for while all keys were read by calls that bring a source.
    static func allocations<Level: SourcedLevel>(
        _ level: Level,
        _ keys: [Level.Key],
        or value: Level.Value
    ) async throws -> Int? {
        let before = strata_allocations()
        _ = try await reads(level, keys, or: value)
        let after = strata_allocations()
        return before < 0 ? nil : after - before
    }

    /// Reads of several threads at once.
    ///
    /// - Returns: How many a nanosecond all of them did together, by the clock on the wall.
    static func rate<Level: CacheLevel>(_ level: Level, _ keys: [Level.Key], threads: Int) async throws -> Double {
        let ready = Countdown(threads)
        let spans = try await withThrowingTaskGroup(of: (Int64, Int64).self) { group in
            for number in 0..<threads {
                let own = Array(keys[(number * keys.count / threads)...] + keys[..<(number * keys.count / threads)])
                group.addTask {
                    ready.wait()
                    let start = MonotonicInstant.now.nanoseconds
                    for _ in 0..<4 { _ = try await reads(level, own) }
                    return (start, MonotonicInstant.now.nanoseconds)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let length = spans.map(\.1).max()! - spans.map(\.0).min()!
        return Double(4 * threads * keys.count) / Double(length)
    }

    /// The same at a bare dictionary.
    static func rate<Key, Value>(bare: StripedDictionary<Key, Value>, _ keys: [Key], threads: Int) async -> Double {
        await rate(threads: threads, operations: keys.count) { _ = reads(bare: bare, keys) }
    }

    /// The same of anything; `body` does so many operations and runs four times in each thread.
    static func rate(threads: Int, operations: Int, _ body: @escaping @Sendable () -> Void) async -> Double {
        let ready = Countdown(threads)
        let spans = await withTaskGroup(of: (Int64, Int64).self) { group in
            for _ in 0..<threads {
                group.addTask {
                    ready.wait()
                    let start = MonotonicInstant.now.nanoseconds
                    for _ in 0..<4 { body() }
                    return (start, MonotonicInstant.now.nanoseconds)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let length = spans.map(\.1).max()! - spans.map(\.0).min()!
        return Double(4 * threads * operations) / Double(length)
    }
}

/// Lets threads begin together.
///
/// They spin: there are no more of them than processors.
private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func wait() {
        left.subtract(1, ordering: .acquiringAndReleasing)
        while left.load(ordering: .acquiring) > 0 {}
    }
}
