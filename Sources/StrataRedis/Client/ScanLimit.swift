/// Ends a scan that the server does not end.
///
/// SCAN comes to its end after as many steps as the server's table has places for each step's `COUNT`; a table is at most
/// some hundred times as large as what is in it, and shrinks. A server that never answers with 0 would keep its caller for
/// ever.
struct ScanLimit: Sendable {
    /// How many steps are taken without asking how large the database is: ten million places.
    static let free = 20_000
    /// How many steps for each batch of keys of which the table is full.
    static let factor = 256

    private var steps = 0
    private var limit = Self.free
    private var hasAsked = false

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
        limit = Self.free + min(batches, 1 << 32) * Self.factor
        guard steps < limit else { throw Self.endless }
    }

    private static var endless: RedisError {
        RedisError(code: .unexpectedReply, message: "SCAN does not come to an end", effect: .ambiguous)
    }
}
