import Foundation
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// The least that a client with asynchronous callers can be: a thread that polls a socket and hands each reply to a
/// continuation, without sleeping, parsing, deadlines or a second caller.
final class PollingLoop: Sendable {
    private static let command = Array("*2\r\n$3\r\nGET\r\n$10\r\nload:small\r\n".utf8)
    private static let replyLength = "$100\r\n".utf8.count + Workload.small.count + 2

    private let descriptor: Int32
    private let isAsked = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)
    private let caller = Mutex<UnsafeContinuation<Void, Never>?>(nil)

    private init(port: UInt16) throws {
        #if os(Linux)
        let stream = Int32(SOCK_STREAM.rawValue)
        #else
        let stream = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Yardstick.Failure(description: "cannot connect: error \(errno)") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// What one caller reaches, with GET of 100 bytes.
    static func operationsPerSecond(_ server: RedisServer, seconds: Double) async throws -> Double {
        guard let port = server.port else { throw Yardstick.Failure(description: "the server has no TCP port") }
        let loop = try PollingLoop(port: port)
        Thread.detachNewThread { loop.poll() }
        defer { loop.isOver.store(true, ordering: .releasing) }
        return
            await Task.detached {
                let start = MonotonicInstant.now
                let end = start.advanced(by: .seconds(seconds))
                var (calls, now) = (0.0, start)
                while now < end {
                    for _ in 0..<8 { await loop.call() }
                    calls += 8
                    now = .now
                }
                return calls / (start.duration(to: now) / .seconds(1))
            }
            .value
    }

    private func call() async {
        await withUnsafeContinuation { continuation in
            caller.withLock { $0 = continuation }
            isAsked.store(true, ordering: .releasing)
        }
    }

    private func poll() {
        var reply = [UInt8](repeating: 0, count: 4096)
        while !isOver.load(ordering: .acquiring) {
            guard isAsked.exchange(false, ordering: .acquiringAndReleasing) else { continue }
            _ = send(descriptor, Self.command, Self.command.count, 0)
            var received = 0
            while received < Self.replyLength {
                let count = recv(descriptor, &reply, reply.count, Int32(MSG_DONTWAIT))
                if count > 0 { received += count }
                if count == 0 || isOver.load(ordering: .acquiring) { break }
            }
            caller.withLock { $0.take() }?.resume()
        }
    }
}
