import Foundation
import Testing

@testable import StrataRedis

@Suite("Errors and addresses of the system")
struct SystemErrorTests {
    @Test("an error number has the system's words")
    func words() {
        #expect(SystemError(number: ECONNREFUSED).description == "Connection refused")
        #expect(SystemError(number: ENOENT).description == "No such file or directory")
        #expect(SystemError(number: 99_999).description.contains("99999"))
        #expect(!SystemError(number: -1).description.isEmpty)
    }

    @Test("the path of a Unix socket fits with its terminator, or is refused")
    func paths() {
        let longest = SocketAddress.longestPath - 1
        #expect(SocketAddress(path: "/tmp/s")?.family == AF_UNIX)
        #expect(SocketAddress(path: String(repeating: "x", count: longest)) != nil)
        #expect(SocketAddress(path: String(repeating: "x", count: longest + 1)) == nil)
        #expect(SocketAddress(path: String(repeating: "é", count: longest)) == nil)
        #expect(SocketAddress(path: "/a") != SocketAddress(path: "/b"))
        let length = SocketAddress(path: "/tmp/s")?.withSockaddr { _, length in Int(length) }
        #expect(length == MemoryLayout<sockaddr_un>.size)
    }
}
