#if Configuration
internal import Strata

extension FreshnessPolicy {
    /// The policies that have a name.
    private static let presets: [String: FreshnessPolicy] = [
        "current": .current, "resilient": .resilient, "immutable": .immutable,
    ]

    private static let parts: [Setting<FreshnessPolicy>] = [
        .duration("freshFor", \.freshFor, .aboveZero),
        .duration("staleWhileRevalidate", \.staleWhileRevalidate, .zero),
        .duration("staleIfError", \.staleIfError, .zero),
        .duration("absentFor", \.absentFor, .zero),
        .number("jitter", \.jitter, 0...1),
        .number("earlyRefresh", \.earlyRefresh, 0...1_000_000),
        .duration("softTimeout", orNone: \.softTimeout),
        .duration("hardTimeout", orNone: \.hardTimeout),
        .duration("completionLimit", \.completionLimit, .aboveZero),
    ]

    /// The preset comes first, so that the others change it.
    static let settings: [Setting<FreshnessPolicy>] = [preset] + parts.map(\.reloadable)

    private static let preset: Setting<FreshnessPolicy> = {
        let words = ["current", "resilient", "immutable"]
        return Setting(
            key: "preset",
            form: .choice(words),
            isReloadable: true,
            text: { _ in nil },
            read: { reader, policy throws(ConfigurationError) in
                if let word = try reader.choice("preset", of: words) { policy = presets[word] ?? policy }
            },
            copy: { other, policy in policy = other }
        )
    }()
}
#endif
