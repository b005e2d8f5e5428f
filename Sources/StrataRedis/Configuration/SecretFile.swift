/// A file that holds a password and nothing else.
package enum SecretFile {
    /// The line of a file that only its owner can read.
    package static func read(_ path: String) throws(RedisError) -> String {
        let file: RegularFile
        do throws(RegularFile.Fault) {
            file = try RegularFile(path, upTo: CredentialSource.longestFile)
        } catch {
            throw failure(error.reason)
        }
        guard file.isOwn else { throw failure("it belongs to another user") }
        guard file.isPrivate else { throw failure("others may use it; chmod 600 fixes that") }
        var line = file.bytes[...]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.contains(UInt8(ascii: "\n")) else { throw failure("it holds more than one line") }
        guard let password = String(validating: line, as: UTF8.self), !password.isEmpty else {
            throw failure("it is empty or not UTF-8")
        }
        return password
    }

    /// The path is left out: it may be the password, given to the wrong option.
    private static func failure(_ reason: String) -> RedisError {
        RedisError(code: .invalidConfiguration, message: "the password file: \(reason)")
    }
}
