import StrataRedis

/// A file that holds a password and nothing else.
enum PasswordFile {
    /// The first line of a file that only its owner can read.
    static func read(_ path: String) throws(Failure) -> String {
        do throws(RedisError) {
            return try SecretFile.read(path)
        } catch {
            throw Failure(.usage, error.message)
        }
    }
}
