/// A free loopback port, reserved while its owner is down.
///
/// On Linux a bound socket that does not listen holds the port: the kernel gives it to no other process, refuses
/// clients (ECONNREFUSED), and still lets a server bind it and listen, because both sides set SO_REUSEADDR. So a server
/// can be killed and restarted on its port, and two servers started at once never pick the same one. BSD kernels do not
/// allow this; there the port is only looked up, and the start is tried again on a clash.
final class PortReservation: Sendable {
    let port: UInt16
    private let holders: [Descriptor]

    /// Reserves a free port, and the one `companionOffset` above it (the bus port of a cluster node).
    init(companionOffset: UInt16? = nil) throws {
        var attempt = 0
        while true {
            attempt += 1
            let first = try Self.holder(port: 0)
            let port = try ListeningSocket.port(of: first)
            guard let companionOffset else {
                self.port = port
                self.holders = Self.kept([first])
                return
            }
            let (companion, overflows) = port.addingReportingOverflow(companionOffset)
            if !overflows, let second = try? Self.holder(port: companion, isFirst: true) {
                self.port = port
                self.holders = Self.kept([first, second])
                return
            }
            guard attempt < 100 else {
                throw HarnessError(.addressInUse, "no free port with a free one \(companionOffset) above it")
            }
        }
    }

    /// A port that the kernel has chosen is free; a given one may belong to another reservation.
    private static func holder(port: UInt16, isFirst: Bool = false) throws -> Descriptor {
        let endpoint = TestEndpoint.loopback(port: port)
        return try ListeningSocket.bound(to: try SocketAddress.numeric(endpoint), replacing: endpoint, isFirst: isFirst)
    }

    private static func kept(_ holders: [Descriptor]) -> [Descriptor] {
        #if os(Linux)
        holders
        #else
        []
        #endif
    }
}
