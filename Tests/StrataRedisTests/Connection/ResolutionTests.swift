import Dispatch
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Looking up host names", .timeLimit(.minutes(5)))
struct ResolutionTests {
    @Test("look-ups beyond the room of a process fail at once, and there is room again when one has ended")
    func room() async throws {
        let (room, end) = (ResolutionRoom(size: 2), DispatchSemaphore(value: 0))
        @Sendable func lookUp(_ host: String, _ port: UInt16) -> Result<[StrataRedis.SocketAddress], RedisError> {
            end.wait()
            return .success([])
        }
        func begin() -> Resolution { Resolution(host: "redis.example", port: 1, by: lookUp, room: room) {} }
        let standing = [begin(), begin()]
        guard case .failure(let error) = begin().result else {
            Issue.record("a third look-up has begun")
            return
        }
        #expect(error.code == .connectionFailed && error.message == "2 other names are being resolved")
        for _ in 0..<3 { end.signal() }
        for resolution in standing {
            while resolution.result == nil { try await nextTurn() }
        }
        let later = begin()
        while later.result == nil { try await nextTurn() }
        #expect(throws: Never.self) { try later.result?.get() }
    }

    @Test("an address is no name: it takes no room and no time", arguments: ["127.0.0.1", "::1"])
    func numeric(host: String) throws {
        let resolution = Resolution(host: host, port: 6379, room: ResolutionRoom(size: 0)) {}
        #expect(try resolution.result?.get().isEmpty == false)
    }
}
