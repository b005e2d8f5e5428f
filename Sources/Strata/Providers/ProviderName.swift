/// The name of a provider that gives itself none.
enum ProviderName {
    /// The full name of the type, and that of the enum's case without its arguments.
    static func reflected<Provider>(_ provider: Provider) -> String {
        let type = withoutContexts(String(reflecting: Provider.self))
        let mirror = Mirror(reflecting: provider)
        guard mirror.displayStyle == .enum else { return type }
        // A case with arguments is the label of its only child.
        return "\(type).\(mirror.children.first?.label ?? String(describing: provider))"
    }

    /// The name without the addresses that stand for private and local contexts: they differ from build to build.
    ///
    /// `Shop.(unknown context at $10c2e4).Items` becomes `Shop.Items`.
    static func withoutContexts(_ name: String) -> String {
        var parts = name.split(separator: ".", omittingEmptySubsequences: false)
        parts.removeAll { $0.hasPrefix("(unknown context at ") && $0.hasSuffix(")") }
        return parts.joined(separator: ".")
    }
}
