internal import Strata

extension Keyspace {
    /// A keyspace with a version, which changes with the keyspaces that it depends on.
    ///
    /// A new version of this keyspace, or of any that it depends on, is another keyspace: reads do not find the entries
    /// of the old one, which expire. So a deployment that changes the form of articles begins with an empty cache of
    /// articles, and of everything that contains articles.
    ///
    /// ```swift
    /// let authors = Keyspace("authors", version: 2)
    /// let articles = Keyspace("articles", version: 3, dependsOn: [authors])
    /// ```
    ///
    /// The name becomes `articles@3.` and sixteen hexadecimal digits: the beginning of the SHA-256 of the version and
    /// of what it depends on, each once and in a fixed order. Version 0 that depends on nothing keeps its plain name.
    /// For a change at run time there is ``RedisLevel/removeAll()``.
    ///
    /// - Parameters:
    ///   - name: The name of the cache.
    ///   - version: The version; any number.
    ///   - dependencies: What it depends on, in any order.
    ///   - prefix: Separates applications that share a database.
    public init(_ name: String, version: Int, dependsOn dependencies: [Keyspace] = [], prefix: String = "strata") {
        let parts = Set(dependencies.map(\.description)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard version != 0 || !parts.isEmpty else {
            self.init(name, prefix: prefix)
            return
        }
        // A description has no line feed, because it would be encoded.
        let text = Array(([String(version)] + parts).joined(separator: "\n").utf8)
        let digits = Array("0123456789abcdef".utf8)
        let digest = SHA256.hash(text).prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        self.init("\(name)@\(version).\(String(decoding: digest, as: UTF8.self))", prefix: prefix)
    }
}
