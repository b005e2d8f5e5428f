#if Hummingbird
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP
@testable import StrataHummingbird

@Suite("Handlers that hang in the background", .timeLimit(.minutes(5)))
struct ResponseRenewalTests {
    /// What handlers do; also the page that they make then.
    private enum Phase: String, Sendable {
        case old, hangs, new
    }

    @Test(
        "they lose their places after the limit, and count as failed: these pages and others are renewed",
        arguments: [true, false]
    )
    func places(hearsCancellation: Bool) async throws {
        let gate = AsyncGate()
        defer { gate.open() }
        let phase = Locked(Phase.old)
        let handler = Handler { _, _ in
            let present = phase.withLock { $0 }
            if present == .hangs {
                if hearsCancellation {
                    try await gate.pass()
                } else {
                    // A task of its own does not hear of the cancellation.
                    try await Task { try await gate.pass() }.value
                }
            }
            return Response(
                status: .ok,
                headers: [.cacheControl: "max-age=0, stale-while-revalidate=600"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: present.rawValue))
            )
        }
        let clock = ManualClock()
        let cache = clock.driving { ResponseCache.inMemory() }
        let pages = (0..<9).map { "/\($0)" }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await cache.run() }
            await cache.responses.refreshes.wait { isRunning, _ in isRunning }
            try await handler.application(cache)
                .test(.router) { client async throws in
                    for page in pages { #expect(try await client.get(page).text == "old") }
                    phase.withLock { $0 = .hangs }
                    // The last one finds no place.
                    for page in pages { #expect(try await client.get(page).text == "old") }
                    await gate.arrivals(8)
                    phase.withLock { $0 = .new }
                    try clock.advance(by: .seconds(30))
                    await cache.responses.refreshes.wait { _, pending in pending == 0 }
                    #expect(cache.statistics.failedFetches == 8)
                    #expect(try await client.get(pages[8]).text == "new")
                    // The others are renewed as soon as a reader comes.
                    #expect(try await client.get(pages[0]).text == "old")
                    await cache.responses.refreshes.wait { _, pending in pending == 0 }
                    #expect(try await client.get(pages[0]).text == "new")
                    await cache.responses.refreshes.wait { _, pending in pending == 0 }
                    // Nor does one that hangs hold up the end of the service.
                    phase.withLock { $0 = .hangs }
                    _ = try await client.get(pages[0])
                    await gate.arrivals(9)
                }
            group.cancelAll()
        }
        #expect(cache.statistics.failedFetches == 8, "its cancellation is no failure")
    }
}
#endif
