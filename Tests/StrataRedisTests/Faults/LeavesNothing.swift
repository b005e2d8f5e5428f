import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A suite that leaves no descriptor, no thread and no task behind.
///
/// Counted over the whole suite, from outside: the descriptors and threads that the kernel knows of the process, and
/// tasks by a witness that each task of a test passes on to the tasks that it makes. A detached task has no witness;
/// one that hangs keeps its client, and with it a thread.
///
/// Nothing is compared where suites run beside each other.
struct LeavesNothing: SuiteTrait, TestScoping {
    final class Witness: Sendable {}

    @TaskLocal static var witness: Witness?

    /// What the process holds, by kind.
    struct Holdings: Equatable, Sendable {
        var descriptors: [String: Int] = [:]
        var threads: [String: Int] = [:]

        /// What only the runtime opens on Linux, when it first needs it, and keeps: Dispatch a timer for each clock
        /// that a task sleeps by, ThreadSanitizer pipes to the program that names places in code, for the first report
        /// that it has to hold against its suppressions.
        private static let runtimeKinds: Set = ["pipe", timerKind]
        static let timerKind = "anon_inode:[timerfd]"

        static var now: Holdings {
            var holdings = Holdings()
            for kind in descriptorKinds where !runtimeKinds.contains(kind) {
                holdings.descriptors[kind, default: 0] += 1
            }
            let files = FileManager.default
            for number in (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
                guard let name = try? String(contentsOfFile: "/proc/self/task/\(number)/comm", encoding: .utf8) else {
                    continue
                }
                let kind = name.trimmingCharacters(in: .newlines)
                // One for the process, begun by the first memory.
                if kind.hasPrefix("strata"), kind != "strata-memory" { holdings.threads[kind, default: 0] += 1 }
            }
            return holdings
        }

        /// The kind of each open descriptor.
        static var descriptorKinds: [String] {
            let files = FileManager.default
            return ((try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [])
                .compactMap { number in
                    // The list itself is open while it is made, and gone when it is looked at.
                    guard let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)") else {
                        return nil
                    }
                    // Sockets and pipes have numbers, `anon_inode:[eventpoll]` has a kind.
                    return target.hasPrefix("anon_inode") ? target : String(target.prefix { $0 != ":" })
                }
        }

        /// What is there more than before.
        func excess(over before: Holdings) -> [String] {
            let more = descriptors.filter { $0.value > before.descriptors[$0.key] ?? 0 }
                .map { "\($0.value) × \($0.key)" }
            return more + threads.filter { $0.value > before.threads[$0.key] ?? 0 }.map { "\($0.value) × \($0.key)" }
        }
    }

    @concurrent func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard ProcessInfo.processInfo.arguments.contains("--no-parallel"),
            FileManager.default.fileExists(atPath: "/proc/self/fd")
        else { return try await function() }
        // What the first test of a process begins stays for the others.
        let redis = try await TestServer.client()
        try await redis.ping()
        await redis.shutDown()
        try await Self.beginTimers()
        let before = try await Self.settled(nil)
        let tasks = Locked(Weak())
        do {
            let witness = Witness()
            tasks.withLock { $0.witness = witness }
            try await Self.$witness.withValue(witness) { try await function() }
        }
        let after = try await Self.settled(before) { tasks.withLock { $0.witness == nil } }
        let isWitnessed = tasks.withLock { $0.witness != nil }
        let excess = after.excess(over: before)
        #expect(excess == [], "left behind by \(test.name)")
        #expect(!isWitnessed, "a task that \(test.name) has begun goes on")
        FaultFigures.tell(
            "suite \(test.name)",
            [
                "leaked descriptors": Self.more(after.descriptors, than: before.descriptors),
                "leaked threads": Self.more(after.threads, than: before.threads), "leaked tasks": isWitnessed ? 1 : 0,
            ]
        )
    }

    /// Returns when Dispatch has opened what it waits for events by.
    ///
    /// A sleep whose time has passed when it begins opens nothing.
    private static func beginTimers() async throws {
        var length = Duration.milliseconds(1)
        while !Holdings.descriptorKinds.contains(Holdings.timerKind) {
            try await ContinuousClock().sleep(until: .now + length)
            length *= 2
        }
    }

    private struct Weak: Sendable {
        weak var witness: Witness?
    }

    private static func more(_ after: [String: Int], than before: [String: Int]) -> Int {
        after.reduce(0) { $0 + max($1.value - (before[$1.key] ?? 0), 0) }
    }

    /// What there is when what ends by itself has ended: not more than before, or the same for a while.
    private static func settled(
        _ before: Holdings?,
        _ isDone: @escaping @Sendable () -> Bool = { true }
    ) async throws -> Holdings {
        try await BlockingThread.run { _ in
            var last = Holdings.now
            var rounds = 0
            while true {
                // This thread, and the one that counts for the kit, are always there.
                let now = Holdings.now
                rounds = now == last ? rounds + 1 : 0
                last = now
                if let before, now.excess(over: before) == [], isDone() { return now }
                // Half a second without a change before, ten seconds after.
                if rounds > (before == nil ? 50 : 1_000) { return now }
                BlockingThread.pause(.milliseconds(10))
            }
        }
    }
}

extension Trait where Self == LeavesNothing {
    /// The suite leaves no descriptor, no thread and no task behind.
    static var leavesNothing: Self { LeavesNothing() }
}
