/// Leads a scan: ends one that the server does not end, and begins anew where the server may be another.
///
/// A cursor says something to the very process that has given it. After a restart or a failover it leads to other
/// places, and what lies between is never found. So after a new connection a scan begins anew, ``mostBeginnings`` times
/// in all: a long one behind a proxy that ends connections must come to its end. What it finds again is what any scan
/// may find again.
///
/// SCAN comes to its end after as many steps as the server's table has places for each step's `COUNT`; a table is at
/// most some hundred times as large as what is in it, and shrinks. A server that never answers with 0 would keep its
/// caller for ever.
struct ScanLimit: Sendable {
    /// How many steps are taken without asking how large the database is: ten million places.
    static let free = 20_000
    /// How many steps for each batch of keys of which the table is full.
    static let factor = 256
    /// How many steps are taken at most, whatever size the server tells: fifty thousand million places.
    static let most = 100_000_000

    /// How often a scan begins.
    static let mostBeginnings = 4

    private var steps = 0
    private(set) var limit = Self.free
    private var hasAsked = false
    private var beginnings = 1
    private var openings = 0

    /// Where the next step begins, after one that was taken.
    ///
    /// - Parameters:
    ///   - cursor: Where the step began.
    ///   - next: Where the server would have the next one begin; 0 at the end.
    ///   - client: Whom the step has asked.
    ///   - size: As for ``check(_:next:size:)``.
    /// - Returns: `nil` at the end.
    /// - Throws: ``RedisError/Code/unexpectedReply`` when the scan does not come to its end.
    mutating func step(
        after cursor: UInt64,
        to next: UInt64,
        at client: RedisClient,
        size: () async throws -> Int
    ) async throws -> UInt64? {
        let now = client.openings
        if cursor != 0, now != openings, beginnings < Self.mostBeginnings {
            let begun = beginnings + 1
            self = ScanLimit()
            beginnings = begun
            return 0
        }
        openings = now
        try await check(cursor, next: next, size: size)
        return next == 0 ? nil : next
    }

    /// Looks at the step that was taken.
    ///
    /// - Parameters:
    ///   - cursor: Where the step began.
    ///   - next: Where the next one begins; 0 at the end.
    ///   - size: How many entries there are to scan; asked once, after ``free`` steps.
    /// - Throws: ``RedisError/Code/unexpectedReply`` when the scan does not come to its end.
    mutating func check(_ cursor: UInt64, next: UInt64, size: () async throws -> Int) async throws {
        steps += 1
        guard next != 0 else { return }
        guard next != cursor else { throw Self.endless }
        guard steps >= limit else { return }
        guard !hasAsked else { throw Self.endless }
        hasAsked = true
        // At 512 keys a step.
        let batches = ((try? await size()) ?? 1 << 32) / 512
        limit = min(Self.free + min(batches, 1 << 32) * Self.factor, Self.most)
        guard steps < limit else { throw Self.endless }
    }

    private static var endless: RedisError {
        RedisError(code: .unexpectedReply, message: "SCAN does not end", effect: .ambiguous)
    }
}
