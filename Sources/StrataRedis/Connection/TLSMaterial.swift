#if TLS
internal import Logging
internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The certificates and keys that are in force: files are read anew when they have changed, at the next connection.
///
/// Lives on the I/O thread.
final class TLSMaterial {
    private let options: TLSOptions
    private let logger: Logger?
    private var current: (context: TLSContext, stamps: [Stamp?])?
    private var lastFailure: String?

    /// What tells whether a file is the one that was read.
    private struct Stamp: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: (Int, Int)
        var changed: (Int, Int)

        static func == (one: Stamp, other: Stamp) -> Bool {
            one.device == other.device && one.inode == other.inode && one.size == other.size
                && one.modified == other.modified && one.changed == other.changed
        }

        /// Symbolic links are followed: a mounted secret is often replaced by switching a link.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
            size = Int64(status.st_size)
            #if canImport(Darwin)
            modified = (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec)
            changed = (status.st_ctimespec.tv_sec, status.st_ctimespec.tv_nsec)
            #else
            modified = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
            changed = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
            #endif
        }
    }

    init(_ options: TLSOptions, logger: Logger?) {
        self.options = options
        self.logger = logger
    }

    /// TLS for a socket that is connected to a server.
    func secure(_ socket: Socket, host: String, endpoint: String) throws(RedisError) -> SecureSocket {
        let session = try TLSSession(
            context(),
            host: options.serverName ?? host,
            server: endpoint,
            hasCertificate: options.files.certificate != nil
        )
        return SecureSocket(socket, session)
    }

    /// What is in force now.
    ///
    /// Files that have changed and cannot be used are no reason to give up those that were read before: they may be
    /// half written, or a key be there before its certificate. They are tried again at the next connection.
    private func context() throws(RedisError) -> TLSContext {
        let stamps = options.files.all.map { Stamp($0) }
        if let current, current.stamps == stamps, !current.context.isDoubtful { return current.context }
        do throws(RedisError) {
            let context = try options.context()
            current = (context, stamps)
            lastFailure = nil
            return context
        } catch {
            guard let current else { throw error }
            if lastFailure != error.message {
                lastFailure = error.message
                logger?
                    .warning(
                        "the files for TLS have changed and cannot be used: the old ones stay in force",
                        metadata: ["error": "\(error.message)"]
                    )
            }
            return current.context
        }
    }
}
#else
internal import Logging

/// Without the trait `TLS` there is none.
enum TLSMaterial {
    init?(_ options: TLSOptions, logger: Logger?) { return nil }

    func secure(_ socket: Socket, host: String, endpoint: String) throws(RedisError) -> SecureSocket { switch self {} }
}

/// Without the trait `TLS` there is none.
enum SecureSocket {
    var wantsToSend: Bool { switch self {} }
    var hasEnded: Bool { switch self {} }

    func overdue(isKnown: Bool) -> RedisError { switch self {} }
    func handshake() throws(RedisError) -> Bool { switch self {} }
    func flush() -> Socket.Transfer { switch self {} }
    func send(_ bytes: UnsafeRawBufferPointer) -> Socket.Transfer { switch self {} }
    func receive(into buffer: UnsafeMutableRawBufferPointer, pulls: Bool) -> Socket.Transfer { switch self {} }
}
#endif
