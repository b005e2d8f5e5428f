#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file that holds a password and nothing else.
enum PasswordFile {
    private static let longest = 4096

    /// The first line of a file that only its owner can read.
    ///
    /// The mode is asked of the open file, so that the file which was checked is the file which is read.
    static func read(_ path: String) throws(Failure) -> String {
        // Without waiting, or opening a FIFO would last until another process writes to it.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(unsafe String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure("its mode cannot be read") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("it is no regular file") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw failure("it belongs to another user") }
        guard status.st_mode & 0o077 == 0 else { throw failure("others may use it; chmod 600 mends that") }

        var bytes = [UInt8](repeating: 0, count: longest + 1)
        var count = 0
        while count < bytes.count {
            let step = unsafe bytes.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return unsafe systemRead(descriptor, rest.baseAddress, rest.count)
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
    private static func failure(_ reason: String) -> Failure {
        Failure(.usage, "the password file: \(reason)")
    }
}

/// `read` of the system, past the method of the same name.
private func systemRead(_ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, target, count)
}
