import Testing

@testable import Strata

@Suite("One read of several keys")
struct SharedReadTests {
    private struct Failure: Error, Equatable {}

    @Test("its failure is everybody's, also of those who ask when it is over; it is not made again")
    func failure() async throws {
        let calls = Locked(0)
        let shared = SharedRead<Int, Int>([1, 2, 3]) { _ in
            calls.withLock { $0 += 1 }
            throw Failure()
        }
        for key in 1...3 { await #expect(throws: Failure()) { try await shared.output(of: key) } }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test("what it has found is there for those who ask when it is over")
    func outputs() async throws {
        let calls = Locked(0)
        let shared = SharedRead<Int, Int>([1, 2]) { keys in
            calls.withLock { $0 += 1 }
            return keys.map { $0 * 10 }
        }
        #expect(try await shared.output(of: 2) == 20)
        #expect(try await shared.output(of: 1) == 10)
        #expect(try await shared.output(of: 3) == nil)
        #expect(calls.withLock { $0 } == 1)
    }
}
