/// What tells the records of one provider apart.
///
/// Take a filter and its pages: the filter is the key, the page is the group.
public struct ProviderKey: Sendable, Hashable {
    /// The key, and the group within it.
    let parts: [[UInt8]]

    private init(_ parts: [any KeyRepresentable]) {
        self.parts = parts.map(\.keyBytes)
    }

    /// The only record of the provider.
    public static let single = ProviderKey([])

    /// One record for each key.
    public static func key(_ key: some KeyRepresentable) -> ProviderKey { ProviderKey([key]) }

    /// One record for each group of each key.
    public static func group(_ key: some KeyRepresentable, _ group: some KeyRepresentable) -> ProviderKey {
        ProviderKey([key, group])
    }
}
