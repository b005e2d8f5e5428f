/// A place to listen at, kept while no server listens there.
final class ListeningPlace: Sendable {
    let endpoint: TestEndpoint
    private let folder: TemporaryFolder?
    private let reservation: PortReservation?

    init(_ kind: TestEndpoint.Kind) throws {
        switch kind {
        case .loopback:
            let reservation = try PortReservation()
            self.reservation = reservation
            folder = nil
            endpoint = .loopback(port: reservation.port)
        case .unixSocket:
            let folder = try TemporaryFolder()
            self.folder = folder
            reservation = nil
            endpoint = .unix(path: "\(folder.path)/socket")
        }
    }

    func listen() throws -> ListeningSocket {
        try ListeningSocket(at: endpoint)
    }

    /// Removes the folder of the socket.
    ///
    /// Blocks.
    func remove() {
        try? folder?.remove()
    }
}
