internal import Strata

/// The keyspaces of an application with their versions and dependencies, in any order.
///
/// ```swift
/// let keyspaces = try KeyspaceVersions([
///     .init("pages", version: 1, dependsOn: ["articles"]),
///     .init("articles", version: 3, dependsOn: ["authors"]),
///     .init("authors", version: 2),
/// ])
/// let pages = RedisLevel<String, Page>(redis, keyspace: keyspaces["pages"])
/// ```
///
/// Bumping one changes the keyspaces of all that depend on it; see ``Keyspace/init(_:version:dependsOn:prefix:)``.
public struct KeyspaceVersions: Sendable {
    /// One keyspace.
    public struct Declaration: Sendable, Hashable {
        /// The name of the cache.
        public var name: String
        /// Its version.
        public var version: Int
        /// The names of the keyspaces that it depends on; an undeclared one counts by its name alone.
        public var dependencies: [String]

        /// A keyspace with its version and dependencies.
        public init(_ name: String, version: Int = 0, dependsOn dependencies: [String] = []) {
            self.name = name
            self.version = version
            self.dependencies = dependencies
        }
    }

    /// Separates applications that share a database.
    public let prefix: String
    private let keyspaces: [String: Keyspace]

    /// Computes all keyspaces.
    ///
    /// O(declarations and dependencies).
    ///
    /// - Parameters:
    ///   - declarations: The keyspaces, in any order.
    ///   - prefix: Separates applications that share a database.
    /// - Throws: ``/Strata/CacheError/Code/invalidKeyspaces`` when a name is declared twice, or keyspaces depend on
    ///   each other in a circle.
    public init(_ declarations: [Declaration], prefix: String = "strata") throws {
        self.prefix = prefix
        var byName: [String: Declaration] = [:]
        for declaration in declarations {
            guard byName.updateValue(declaration, forKey: declaration.name) == nil else {
                throw CacheError(code: .invalidKeyspaces, message: "\(declaration.name) is declared twice")
            }
        }
        // In topological order (Kahn, "Topological sorting of large networks", 1962), so that no depth is too deep.
        var open: [String: Int] = [:]
        var dependents: [String: [String]] = [:]
        for declaration in declarations {
            let known = Set(declaration.dependencies).filter { byName[$0] != nil }
            open[declaration.name] = known.count
            for dependency in known { dependents[dependency, default: []].append(declaration.name) }
        }
        var ready = declarations.map(\.name).filter { open[$0] == 0 }
        var done: [String: Keyspace] = [:]
        while let name = ready.popLast() {
            guard let declaration = byName[name] else { continue }
            done[name] = Keyspace(
                name,
                version: declaration.version,
                dependsOn: declaration.dependencies.map { done[$0] ?? Keyspace($0, prefix: prefix) },
                prefix: prefix
            )
            for dependent in dependents[name] ?? [] {
                open[dependent, default: 0] -= 1
                if open[dependent] == 0 { ready.append(dependent) }
            }
        }
        guard done.count == byName.count else {
            let names = byName.keys.filter { done[$0] == nil }.sorted().prefix(10).joined(separator: ", ")
            throw CacheError(
                code: .invalidKeyspaces,
                message: "keyspaces that depend on each other in a circle, among \(names)"
            )
        }
        keyspaces = done
    }

    /// The keyspace of a name; a plain one for a name that is not declared.
    public subscript(name: String) -> Keyspace { keyspaces[name] ?? Keyspace(name, prefix: prefix) }
}
