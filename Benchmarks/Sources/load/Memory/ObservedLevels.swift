import Strata
import Synchronization

/// What a hub of observers has for the hot path: the kinds that an observer wants, as bits.
final class WantedKinds: Sendable {
    let bits = Atomic<UInt32>(0)
}

/// A level around memory that only forwards.
struct Forwarding: CacheLevel {
    let base: MemoryLevel<String, Product>

    @inline(__always)
    func resident(_ key: String, at now: MonotonicInstant) -> Resident<Product>? { base.resident(key, at: now) }

    @inline(__always)
    func resident(
        _ key: String,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Product>? { base.resident(key, at: now, &answers) }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Product>? {
        try await base.entry(for: key, request)
    }

    func store(_ entry: Entry<Product>, for key: String) async throws { try await base.store(entry, for: key) }
    func remove(_ key: String) async throws { try await base.remove(key) }
    func removeAll() async throws { try await base.removeAll() }
}

/// The same, which also looks whether hits are observed, as memory has done by then: what it takes longer is what that
/// look costs.
struct AskingTwice: CacheLevel {
    let base: MemoryLevel<String, Product>
    let wanted = WantedKinds()
    let told = Atomic64()

    @inline(__always)
    func resident(_ key: String, at now: MonotonicInstant) -> Resident<Product>? {
        asking(base.resident(key, at: now))
    }

    @inline(__always)
    func resident(
        _ key: String,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Product>? { asking(base.resident(key, at: now, &answers)) }

    @inline(__always)
    private func asking(_ found: Resident<Product>?) -> Resident<Product>? {
        if wanted.bits.load(ordering: .relaxed) & 1 != 0, found != nil { told.add() }
        return found
    }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Product>? {
        try await base.entry(for: key, request)
    }

    func store(_ entry: Entry<Product>, for key: String) async throws { try await base.store(entry, for: key) }
    func remove(_ key: String) async throws { try await base.remove(key) }
    func removeAll() async throws { try await base.removeAll() }
}

/// Counts what is never told here, so that the compiler keeps the branch.
final class Atomic64: Sendable {
    private let count = Atomic<UInt64>(0)

    @inline(never)
    func add() { count.wrappingAdd(1, ordering: .relaxed) }
}
