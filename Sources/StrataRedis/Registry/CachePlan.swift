package import Strata

/// The settings of all caches of a service: defaults, and what differs for some.
///
/// ```swift
/// var plan = CachePlan()
/// plan.defaults.freshness = .resilient
/// plan.override("sessions") { $0.freshness.freshFor = .seconds(60) }
/// let caches = RedisCaches(redis, plan)
/// ```
///
/// `StrataConfiguration` reads a plan from the configuration of the service.
public struct CachePlan: Sendable {
    /// One step from the defaults to the settings of a cache.
    package typealias Step = @Sendable (_ name: String, _ settings: inout CacheSettings) throws -> Void

    /// The settings of every cache, unless the plan has others for it.
    public var defaults: CacheSettings
    private var overrides: [Step] = []
    /// What a configuration says of all caches, before what the code says of one.
    package var first: Step?
    /// What a configuration says of one cache, after what the code says of it.
    package var last: Step?
    /// The compressions that a configuration may name.
    package var stages: [String: ByteStage] = [:]

    /// A plan in which all caches have the same settings.
    public init(defaults: CacheSettings = CacheSettings()) {
        self.defaults = defaults
    }

    /// Sets what differs for a cache.
    ///
    /// - Parameters:
    ///   - name: The name of the cache.
    ///   - change: Changes its settings, which begin as the defaults. The last of several changes for one cache counts.
    public mutating func override(_ name: String, _ change: @escaping @Sendable (inout CacheSettings) -> Void) {
        overrides.append { asked, settings in
            if asked == name { change(&settings) }
        }
    }

    /// The settings of a cache.
    ///
    /// - Parameter name: The name of the cache.
    /// - Returns: Its settings.
    /// - Throws: An error for a configuration that makes no sense.
    public func settings(for name: String) throws -> CacheSettings {
        var settings = defaults
        try first?(name, &settings)
        for step in overrides { try step(name, &settings) }
        try last?(name, &settings)
        return settings
    }
}
