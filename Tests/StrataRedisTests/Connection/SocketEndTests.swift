import Testing

@testable import StrataRedis

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite("The end of a socket", .timeLimit(.minutes(5)))
struct SocketEndTests {
    /// A peer that reads nothing until it is told to.
    private final class Peer {
        private let listener: Int32
        let address: StrataRedis.SocketAddress

        init() throws {
            #if canImport(Glibc)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            #else
            let listener = socket(AF_INET, SOCK_STREAM, 0)
            #endif
            self.listener = listener
            try #require(listener >= 0)
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let bound = withUnsafeMutablePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    var size = size
                    return bind(listener, address, size) == 0 && listen(listener, 1) == 0
                        && getsockname(listener, address, &size) == 0
                }
            }
            try #require(bound)
            address = withUnsafeBytes(of: &place) { StrataRedis.SocketAddress(family: AF_INET, bytes: $0) }
        }

        deinit { close(listener) }

        /// Reads all that comes: how many bytes, and whether the end was a reset.
        func readAll() -> (count: Int, wasReset: Bool) {
            let connection = accept(listener, nil, nil)
            defer { close(connection) }
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            var count = 0
            while true {
                let read = recv(connection, &buffer, buffer.count, 0)
                if read <= 0 { return (count, read < 0 && errno == ECONNRESET) }
                count += read
            }
        }
    }

    @Test("what the peer has not taken when a connection is given up never reaches it")
    func givenUp() throws {
        let peer = try Peer()
        var socket: Socket? = Socket(descriptor: try Socket.connect(to: peer.address).get().descriptor)
        let bytes = [UInt8](repeating: 7, count: 256 << 10)
        var sent = 0
        filling: while sent < 256 << 20 {
            switch bytes.withUnsafeBytes({ socket?.send($0) }) {
            case .moved(let count): sent += count
            // Right after the connect the system may not have the room of its buffers yet.
            case .wouldBlock where sent == 0: continue
            default: break filling
            }
        }
        try #require(sent > 0)
        socket = nil
        let end = peer.readAll()
        #expect(end.wasReset)
        #expect(end.count < sent)
    }
}
