/// The full name of a type, the same in each build.
enum TypeName {
    static func of(_ type: Any.Type) -> String { withoutContexts(String(reflecting: type)) }

    /// The name without the addresses that stand for private and local contexts: they differ from build to build.
    ///
    /// `Shop.(unknown context at $10c2e4).Items` becomes `Shop.Items`.
    static func withoutContexts(_ name: String) -> String {
        var parts = name.split(separator: ".", omittingEmptySubsequences: false)
        parts.removeAll { $0.hasPrefix("(unknown context at ") && $0.hasSuffix(")") }
        return parts.joined(separator: ".")
    }
}
