#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// An open file descriptor that closes itself.
///
/// Every user of the number holds a reference, so the number is never closed, and never reused by another file, while a
/// call may still use it.
final class Descriptor: Sendable {
    let number: Int32

    /// Takes ownership of an open descriptor.
    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Two connected stream sockets, closed in every child.
    static func pair() throws -> (Descriptor, Descriptor) {
        var numbers: (Int32, Int32) = (-1, -1)
        #if canImport(Darwin)
        let type = SystemCall.streamType
        #else
        let type = SystemCall.streamType | Int32(SOCK_CLOEXEC.rawValue)
        #endif
        let result = unsafe withUnsafeMutableBytes(of: &numbers) { raw in
            unsafe socketpair(AF_UNIX, type, 0, raw.baseAddress?.assumingMemoryBound(to: Int32.self))
        }
        guard result == 0 else { throw SystemCall.failure(.launchFailed, "socketpair") }
        let pair = (Descriptor(numbers.0), Descriptor(numbers.1))
        pair.0.prepareSocket()
        pair.1.prepareSocket()
        return pair
    }

    /// Keeps the descriptor out of children, and a write to a dead peer from raising SIGPIPE.
    ///
    /// On Linux the flags were given to the call that made the descriptor wherever possible, so that no child can be
    /// started in between.
    func prepareSocket() {
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        #if canImport(Darwin)
        var on: Int32 = 1
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    func makeNonBlocking() {
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    }
}
