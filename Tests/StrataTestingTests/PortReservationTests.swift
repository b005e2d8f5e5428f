import Testing

@testable import StrataTesting

/// Ports that are kept for servers which are not there yet.
@Suite("Port reservations")
struct PortReservationTests {
    #if os(Linux)
    @Test("a given port is not taken from another reservation; servers can listen at those that are reserved")
    func companion() throws {
        let held = try PortReservation()
        let endpoint = TestEndpoint.loopback(port: held.port)
        let address = try SocketAddress.numeric(endpoint)
        #expect(throws: HarnessError.self) {
            try ListeningSocket.bound(to: address, replacing: endpoint, isFirst: true)
        }
        let pair = try PortReservation(companionOffset: 10_000)
        for port in [held.port, pair.port, pair.port + 10_000] {
            let server = try ListeningSocket(at: .loopback(port: port))
            #expect(server.endpoint == .loopback(port: port))
        }
    }
    #endif
}
