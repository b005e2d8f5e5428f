import Testing

@testable import Strata

@Suite("Keys that are not asked for again for a while", .timeLimit(.minutes(5)))
struct PausesTests {
    @Test("an error may ask for pauses when it is released", arguments: 0..<3)
    func released(way: Int) async throws {
        let pauses = Pauses<String>(steps: .seconds(100) ... .seconds(300))
        let freed = AsyncStream.makeStream(of: Void.self)
        pauses.pause(
            "k",
            because: Farewell {
                _ = pauses.left(for: "other", at: .now)
                freed.continuation.yield()
            }
        )
        // In a task of its own: one that waits for a lock of its own does not end.
        Task.detached {
            switch way {
            case 0: pauses.end("k")
            case 1: pauses.endAll()
            default: pauses.pause("k")
            }
        }
        var farewells = freed.stream.makeAsyncIterator()
        #expect(await farewells.next() != nil)
    }

    @Test("so may those whose pauses are over, when there is no room for others")
    func full() async throws {
        let pauses = Pauses<Int>(steps: .seconds(100) ... .seconds(300))
        let freed = AsyncStream.makeStream(of: Void.self)
        pauses.pause(
            0,
            for: .zero,
            because: Farewell {
                _ = pauses.left(for: 1, at: .now)
                freed.continuation.yield()
            }
        )
        Task.detached { for key in 1...4_096 { pauses.pause(key) } }
        var farewells = freed.stream.makeAsyncIterator()
        #expect(await farewells.next() != nil)
        #expect(pauses.left(for: 0, at: .now) == nil)
    }
}
