internal import Strata
internal import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The look-up of a host name on a thread of its own, because `getaddrinfo` blocks for as long as it likes.
///
/// A numeric address takes no thread.
final class Resolution: Sendable {
    private let outcome = Locked<Result<[SocketAddress], RedisError>?>(nil)

    /// What the look-up found, `nil` while it runs.
    var result: Result<[SocketAddress], RedisError>? { outcome.withLock { $0 } }

    /// Starts a look-up.
    ///
    /// - Parameters:
    ///   - host: A name or a numeric address.
    ///   - port: The port that the addresses get.
    ///   - lookUp: Asks in place of the system.
    ///   - room: How many look-ups run at the same time; those of the process by default.
    ///   - finished: Called when `result` is there, by whatever thread.
    init(
        host: String,
        port: UInt16,
        by lookUp: (@Sendable (String, UInt16) -> Result<[SocketAddress], RedisError>)? = nil,
        room: ResolutionRoom = .process,
        finished: @escaping @Sendable () -> Void
    ) {
        if lookUp == nil, case .success(let addresses) = Self.resolve(host: host, port: port, isNumeric: true) {
            end(.success(addresses), finished)
            return
        }
        guard room.enter() else {
            fail("\(room.size) other names are being resolved", finished)
            return
        }
        let status = NativeThread.start(name: "strata-resolve") { [self] in
            let found = lookUp?(host, port) ?? Self.resolve(host: host, port: port)
            room.leave()
            end(found, finished)
        }
        guard status != 0 else { return }
        room.leave()
        fail("no thread to resolve the name on", finished)
    }

    private func end(_ found: Result<[SocketAddress], RedisError>, _ finished: () -> Void) {
        outcome.withLock { $0 = found }
        finished()
    }

    private func fail(_ message: String, _ finished: () -> Void) {
        end(.failure(RedisError(code: .connectionFailed, message: message)), finished)
    }

    /// Looks a name up.
    ///
    /// - Parameters:
    ///   - host: A name or a numeric address.
    ///   - port: The port that the addresses get.
    ///   - isNumeric: Whether only addresses are taken, and no name server is asked.
    /// - Returns: The addresses; why there are none.
    static func resolve(
        host: String,
        port: UInt16,
        isNumeric: Bool = false
    ) -> Result<[SocketAddress], RedisError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let reason = String(cString: gai_strerror(status))
            return .failure(RedisError(code: .connectionFailed, message: "the name cannot be resolved: \(reason)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen))
                addresses.append(SocketAddress(family: entry.pointee.ai_family, bytes: bytes))
            }
            next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            return .failure(RedisError(code: .connectionFailed, message: "the name has no address"))
        }
        return .success(addresses)
    }
}

/// Bounds the look-ups that run at the same time, each with a thread.
///
/// Where a name server is silent, a cluster whose nodes change would have a thread for each name that it has ever told.
final class ResolutionRoom: Sendable {
    /// That of the process.
    static let process = ResolutionRoom(size: 64)

    let size: Int
    private let running = Atomic<Int>(0)

    init(size: Int) { self.size = size }

    /// Whether there is room for one more, which then is in it.
    func enter() -> Bool {
        guard running.wrappingAdd(1, ordering: .relaxed).newValue > size else { return true }
        leave()
        return false
    }

    func leave() { running.wrappingSubtract(1, ordering: .relaxed) }
}
