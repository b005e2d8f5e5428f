#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A file that is open, by its number; it is closed with this value.
///
/// All of it blocks.
struct HibernationFile: ~Copyable, Sendable {
    private let descriptor: Int32
    let size: Int
    /// Tells a file from another one that has taken its name.
    let device: UInt64
    let number: UInt64

    /// What the system says of a call that has failed; no name of a file is in it.
    static var systemError: String { unsafe String(cString: strerror(errno)) }

    deinit { close(descriptor) }

    /// A file that this process alone may write; `nil` when there is none.
    ///
    /// - Throws: ``HibernationError/Code/cannotOpen``, ``HibernationError/Code/notOwn``.
    init?(reading path: String) throws(HibernationError) {
        // Without waiting, or the open of a FIFO would last until a writer opens it.
        descriptor = openSystemFile(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw HibernationError(.cannotOpen, Self.systemError)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw HibernationError(.cannotOpen, "it is not a regular file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
            close(descriptor)
            throw HibernationError(.notOwn, "the file belongs to another user, or others may write to it")
        }
        size = Int(status.st_size)
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// A new file that only this user may read, and that no other process makes; locked for as long as it is open.
    ///
    /// Before it is locked, another process may take it for a forgotten one and remove it; then it is `nil`.
    ///
    /// - Throws: ``HibernationError/Code/cannotOpen``.
    init?(making path: String) throws(HibernationError) {
        descriptor = openSystemFile(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw HibernationError(.cannotOpen, Self.systemError) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let (isRemoved, reason) = (errno == EWOULDBLOCK, Self.systemError)
            close(descriptor)
            if isRemoved { return nil }
            unsafe unlink(path)
            throw HibernationError(.cannotOpen, reason)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            close(descriptor)
            return nil
        }
        size = 0
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Whether a name stands for this file.
    func isAt(_ path: String, followingLinks: Bool = false) -> Bool {
        var status = stat()
        let outcome = followingLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
        return outcome == 0 && UInt64(truncatingIfNeeded: status.st_dev) == device
            && UInt64(truncatingIfNeeded: status.st_ino) == number
    }

    /// The next bytes, `most` at the most; none at the end.
    func read(_ most: Int) throws(HibernationError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: most)
        while true {
            let count = unsafe bytes.withUnsafeMutableBytes { unsafe readSystemFile(descriptor, $0) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw HibernationError(.cannotRead, Self.systemError) }
            bytes.removeLast(most - count)
            return bytes
        }
    }

    /// Writes all bytes.
    func write(_ bytes: [UInt8]) throws(HibernationError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe writeSystemFile(descriptor, UnsafeRawBufferPointer(rebasing: buffer[written...]))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw HibernationError(.cannotWrite, Self.systemError) }
            written += count
        }
    }

    /// Removes a file that a process has begun to write and has left behind: one that no process has locked.
    static func removeForgotten(_ path: String) {
        let descriptor = openSystemFile(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(path) }
        close(descriptor)
    }
}

// The system's functions, past the methods of the same names.

private func openSystemFile(_ path: String, _ flags: Int32) -> Int32 { unsafe open(path, flags, 0o600) }

private func readSystemFile(_ descriptor: Int32, _ target: UnsafeMutableRawBufferPointer) -> Int {
    unsafe read(descriptor, target.baseAddress, target.count)
}

private func writeSystemFile(_ descriptor: Int32, _ source: UnsafeRawBufferPointer) -> Int {
    unsafe write(descriptor, source.baseAddress, source.count)
}
