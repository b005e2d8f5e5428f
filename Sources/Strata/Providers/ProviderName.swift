/// The name of a provider that does not declare one.
enum ProviderName {
    /// The full name of the type, and that of the enum's case without its arguments.
    static func reflected<Provider>(_ provider: Provider) -> String {
        let type = TypeName.of(Provider.self)
        let mirror = Mirror(reflecting: provider)
        guard mirror.displayStyle == .enum else { return type }
        // A case with arguments is the label of its only child.
        return "\(type).\(mirror.children.first?.label ?? String(describing: provider))"
    }
}
