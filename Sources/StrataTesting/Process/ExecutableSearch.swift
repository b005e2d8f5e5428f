#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Finds programs as a shell does.
enum ExecutableSearch {
    /// The absolute path of a program: as given when it holds a slash, otherwise the first fit in PATH.
    ///
    /// Absolute, because programs are started in folders of their own.
    static func path(of name: String) throws -> String {
        if name.contains("/") {
            guard isExecutable(name) else {
                throw HarnessError(.executableNotFound, "\(name) is not an executable file")
            }
            return try absolute(name)
        }
        let folders = (SystemCall.environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        for folder in folders where isExecutable("\(folder)/\(name)") {
            return try absolute("\(folder)/\(name)")
        }
        throw HarnessError(.executableNotFound, "no \(name) in PATH")
    }

    private static func absolute(_ path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let folder = unsafe getcwd(nil, 0) else { throw SystemCall.failure(.fileFailed, "getcwd") }
        defer { unsafe free(folder) }
        return unsafe "\(String(cString: folder))/\(path)"
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}

extension ExecutableSearch {
    /// The folder in which the running program, or the test bundle with this code, was built.
    static func productsFolder() throws -> String {
        var components = try imagePath().split(separator: "/", omittingEmptySubsequences: false)
        // On macOS the tests are a bundle: Some.xctest/Contents/MacOS/Some.
        if let bundle = components.firstIndex(where: { $0.hasSuffix(".xctest") }) {
            components.removeSubrange(bundle...)
        } else {
            components.removeLast()
        }
        return components.joined(separator: "/")
    }

    private static func imagePath() throws -> String {
        #if os(Linux)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { raw in
            guard let base = raw.baseAddress else { return -1 }
            return unsafe readlink("/proc/self/exe", base.assumingMemoryBound(to: CChar.self), raw.count)
        }
        guard count > 0 else { throw SystemCall.failure(.fileFailed, "readlink /proc/self/exe") }
        return String(decoding: buffer[..<count], as: UTF8.self)
        #else
        var information = unsafe Dl_info()
        guard unsafe dladdr(#dsohandle, &information) != 0, let name = unsafe information.dli_fname else {
            throw HarnessError(.fileFailed, "the path of the running program is unknown")
        }
        return unsafe String(cString: name)
        #endif
    }
}
