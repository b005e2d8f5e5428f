internal import Strata

/// The named caches of a client, and the plan by which they are made.
struct CacheMembers: Sendable {
    private(set) var plan: CachePlan
    /// Changes with the plan.
    private(set) var generation: UInt64 = 0
    var all: [String: CacheMember] = [:]
    /// What the plan says for the caches that were there when it came.
    private var settings: [String: CacheSettings] = [:]

    init(plan: CachePlan) {
        self.plan = plan
    }

    /// Takes a new plan.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - settings: What it says for each cache.
    /// - Returns: False, and nothing is changed, when a cache is missing there.
    mutating func take(_ plan: CachePlan, _ settings: [String: CacheSettings]) -> Bool {
        guard all.keys.allSatisfy({ settings[$0] != nil }) else { return false }
        self.plan = plan
        self.settings = settings
        generation += 1
        return true
    }

    /// Takes out the caches that a registry does not have any more; what has got their names are others.
    mutating func takeRemoved(from registry: CacheRegistry) -> [CacheMember] {
        let standing = registry.numbers
        return all.filter { standing[$0.key] != $0.value.number }.keys
            .compactMap { all.removeValue(forKey: $0) }
    }

    /// What the caches have to adopt, if they have adopted an earlier plan or none.
    func due(after adopted: UInt64?) -> [(member: CacheMember, settings: CacheSettings)] {
        guard generation != adopted else { return [] }
        return all.compactMap { name, member in settings[name].map { (member, $0) } }
    }

    /// Two caches in one keyspace would read each other's values.
    func check(_ keyspace: Keyspace, of name: String) throws(CacheError) {
        guard let other = all.first(where: { $0.key != name && $0.value.keyspace == keyspace })?.key else { return }
        throw CacheError(code: .invalidKeyspaces, message: "the caches \(other) and \(name) share a keyspace")
    }
}
