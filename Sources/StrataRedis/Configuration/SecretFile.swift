#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file that holds a password and nothing else.
package enum SecretFile {
    /// The line of a file that nobody but its owner can read.
    ///
    /// The mode is asked of the open file, so that the file which was checked is the file which is read.
    package static func read(_ path: String) throws(RedisError) -> String {
        // Without waiting, or the open of a FIFO would last until somebody writes to it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("its mode cannot be read") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("it is no regular file") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw failure("it belongs to another user") }
        guard status.st_mode & 0o077 == 0 else { throw failure("others may use it; chmod 600 mends that") }

        let longest = CredentialSource.longestFile
        var bytes = [UInt8](repeating: 0, count: longest + 1)
        var count = 0
        while count < bytes.count {
            let step = bytes.withUnsafeMutableBytes { buffer in
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return systemRead(descriptor, rest.baseAddress, rest.count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw failure("it cannot be read") }
            if step == 0 { break }
            count += step
        }
        guard count <= longest else { throw failure("it is longer than \(longest) bytes") }
        var line = bytes[..<count]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.contains(UInt8(ascii: "\n")) else { throw failure("it holds more than one line") }
        guard let password = String(validating: line, as: UTF8.self), !password.isEmpty else {
            throw failure("it is empty or no UTF-8")
        }
        return password
    }

    /// The path is left out: it may be the password, given to the wrong option.
    private static func failure(_ reason: String) -> RedisError {
        RedisError(code: .invalidConfiguration, message: "the password file: \(reason)")
    }
}

/// `read` of the system, past the method of the same name.
private func systemRead(_ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, target, count)
}
