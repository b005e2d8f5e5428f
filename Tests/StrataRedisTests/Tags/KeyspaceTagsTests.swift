import Strata
import Testing

@testable import StrataRedis

@Suite("What an instance knows of a keyspace, and its gate", .timeLimit(.minutes(5)))
struct KeyspaceTagsTests {
    @Test("who sees that the numbers are known takes tickets that the answer which brought them does not void")
    func firstAnswer() async throws {
        // So large that emptying it takes a while.
        let gate = FillGate(size: 1 << 22, untrustedLifetime: .seconds(1))
        let answer = Shared<(@Sendable (TagMarks?) -> Void)?>(nil)
        let tags = KeyspaceTags(keyspace: "things", gate: gate) { _, completion in
            answer.withLock { $0 = completion }
        }
        gate.setTrustedUntil(.distantFuture)
        tags.linkEstablished()
        let complete = try #require(answer.withLock { $0 })
        // Everything was cleared once, which this instance has not heard of.
        let answering = Task.detached { complete(TagMarks(sequence: 2, clear: 2)) }
        while !tags.isKnown { await Task.yield() }
        let tickets = (0..<1_000 as Range<UInt64>).map { gate.ticket(for: $0 &* 0x9E37_79B9_7F4A_7C15) }
        await answering.value
        #expect(tickets.allSatisfy { gate.isLive($0) })
    }
}
