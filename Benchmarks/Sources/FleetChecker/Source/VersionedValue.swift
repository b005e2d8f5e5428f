/// A value that says which key it belongs to, which version of it it is, and who wrote it.
///
/// This is what a fleet under test caches instead of products or pages: a reader can tell an old value from
/// a new one, another key's value from the right one, and a damaged or invented one from both.
public struct VersionedValue: Sendable, Hashable, Codable {
    /// The key the value was made for.
    public let key: Int
    /// The version, counted by the source: a later write always has a higher one.
    public let version: UInt64
    /// The instance that wrote this version; 0 for the initial version.
    public let writer: UInt16
    /// A number that follows from the run's seed and the other fields and cannot be guessed without the seed.
    public let salt: UInt64

    /// Puts a value together from its parts, as a decoder does.
    ///
    /// - Parameters:
    ///   - key: The key the value was made for.
    ///   - version: The version.
    ///   - writer: The instance that wrote it.
    ///   - salt: The salt.
    public init(key: Int, version: UInt64, writer: UInt16, salt: UInt64) {
        self.key = key
        self.version = version
        self.writer = writer
        self.salt = salt
    }

    /// Makes the genuine value of a key and version.
    package init(key: Int, version: UInt64, writer: UInt16, run: VersionedRun) {
        self.init(
            key: key,
            version: version,
            writer: writer,
            salt: run.salt(key: key, version: version, writer: writer)
        )
    }
}
