#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A small regular file, with what its mode says of those who may use it.
package struct RegularFile: Sendable {
    /// What it holds.
    package let bytes: [UInt8]
    /// Whether it belongs to this user, or to the superuser.
    package let isOwn: Bool
    /// Whether only its owner may read or write it.
    package let isPrivate: Bool
    /// Whether every user may write it.
    package let isWritableByAll: Bool

    /// Why a file cannot be read.
    package struct Fault: Error, Sendable {
        /// In words, without the path: that may be a password, given to the wrong option.
        package let reason: String
        /// Whether there is no such file.
        package let isMissing: Bool
    }

    /// Reads a file.
    ///
    /// The mode is asked of the open file, so that the file which was checked is the file which is read.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - longest: How many bytes it may have.
    /// - Throws: Why it cannot be read.
    package init(_ path: String, upTo longest: Int) throws(Fault) {
        // Without waiting, or the open of a FIFO would last until a process writes to it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw Fault(reason: String(cString: strerror(errno)), isMissing: errno == ENOENT || errno == ENOTDIR)
        }
        defer { close(descriptor) }
        func fault(_ reason: String) -> Fault { Fault(reason: reason, isMissing: false) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw fault("its mode cannot be read") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw fault("it is not a regular file") }
        isOwn = status.st_uid == geteuid() || status.st_uid == 0
        isPrivate = status.st_mode & 0o077 == 0
        isWritableByAll = status.st_mode & 0o002 != 0

        var bytes = [UInt8](repeating: 0, count: longest + 1)
        var count = 0
        while count < bytes.count {
            let step = bytes.withUnsafeMutableBytes { buffer in
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return systemRead(descriptor, rest.baseAddress, rest.count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw fault("it cannot be read") }
            if step == 0 { break }
            count += step
        }
        guard count <= longest else { throw fault("it is longer than \(longest) bytes") }
        self.bytes = Array(bytes[..<count])
    }
}

/// `read` of the system, past the method of the same name.
private func systemRead(_ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, target, count)
}
