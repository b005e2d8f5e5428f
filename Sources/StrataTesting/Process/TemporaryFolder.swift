#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A fresh folder, readable by its owner only, that does not outlive the process.
///
/// It lies in `/tmp` rather than in TMPDIR: socket paths in it must fit `sockaddr_un`, and TMPDIR of macOS eats half of
/// that.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let processGuard = try ProcessGuard.current()
        var attempt = 0
        while true {
            attempt += 1
            let name = String(UInt64.random(in: 0 ... .max), radix: 36)
            let candidate = "/tmp/strata-\(name)"
            if unsafe mkdir(candidate, 0o700) == 0 {
                path = candidate
                break
            }
            guard errno == EEXIST, attempt < 10 else { throw SystemCall.failure(.fileFailed, "mkdir \(candidate)") }
        }
        try processGuard.protect(folder: path)
    }

    /// Writes a file that only its owner may read.
    func write(_ text: String, to name: String) throws {
        let file = "\(path)/\(name)"
        let descriptor = try Self.open(file, O_WRONLY | O_CREAT | O_TRUNC)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { raw in
                unsafe Self.writeOnce(descriptor.number, raw)
            }
            guard count > 0 else { throw SystemCall.failure(.fileFailed, "write \(file)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Opens a file to append to it.
    func appending(to name: String) throws -> Descriptor {
        try Self.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_APPEND)
    }

    func makeFolder(_ name: String) throws {
        let folder = "\(path)/\(name)"
        guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw SystemCall.failure(.fileFailed, "mkdir \(folder)")
        }
    }

    /// The last lines of a file, read from at most its last 16 KiB.
    func tail(of name: String, lines: Int) -> [String] {
        guard let descriptor = try? Self.open("\(path)/\(name)", O_RDONLY) else { return [] }
        let window = 16 << 10
        let size = Int(lseek(descriptor.number, 0, SEEK_END))
        var buffer = [UInt8](repeating: 0, count: window)
        let start = max(0, size - window)
        let count = unsafe buffer.withUnsafeMutableBytes { raw in
            unsafe pread(descriptor.number, raw.baseAddress, raw.count, off_t(start))
        }
        guard count > 0 else { return [] }
        let all = buffer[..<count].split(separator: UInt8(ascii: "\n"))
        // Unless the file was read from its beginning, the first line is cut.
        let whole = start > 0 ? all.dropFirst() : all[...]
        return whole.suffix(lines).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Removes what lies in a folder inside, but not the folder.
    func empty(_ name: String) throws {
        try Self.removeContents(of: "\(path)/\(name)")
    }

    /// Removes the folder with everything in it.
    func remove() throws {
        try Self.removeContents(of: path)
        guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw SystemCall.failure(.fileFailed, "rmdir \(path)") }
        try? ProcessGuard.current().release(folder: path)
    }

    private static func open(_ file: String, _ flags: Int32) throws -> Descriptor {
        #if canImport(Darwin)
        let number = unsafe Darwin.open(file, flags | O_CLOEXEC, 0o600)
        #elseif canImport(Musl)
        let number = unsafe Musl.open(file, flags | O_CLOEXEC, 0o600)
        #else
        let number = unsafe Glibc.open(file, flags | O_CLOEXEC, 0o600)
        #endif
        guard number >= 0 else { throw SystemCall.failure(.fileFailed, "open \(file)") }
        return Descriptor(number)
    }

    private static func writeOnce(_ number: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        unsafe Darwin.write(number, bytes.baseAddress, bytes.count)
        #elseif canImport(Musl)
        unsafe Musl.write(number, bytes.baseAddress, bytes.count)
        #else
        unsafe Glibc.write(number, bytes.baseAddress, bytes.count)
        #endif
    }

    private static func removeContents(of folder: String) throws {
        guard let stream = unsafe opendir(folder) else {
            if errno == ENOENT { return }
            throw SystemCall.failure(.fileFailed, "opendir \(folder)")
        }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            // Through the offset, for the name is shorter than the field that Swift would copy.
            let field = unsafe UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 0)
            let name = unsafe String(cString: field.assumingMemoryBound(to: CChar.self))
            guard name != ".", name != ".." else { continue }
            let child = "\(folder)/\(name)"
            // Never follows a link: `unlink` removes the link itself, and only folders make it fail.
            if unsafe unlink(child) == 0 || errno == ENOENT { continue }
            try removeContents(of: child)
            guard unsafe rmdir(child) == 0 || errno == ENOENT else {
                throw SystemCall.failure(.fileFailed, "rmdir \(child)")
            }
        }
    }
}
