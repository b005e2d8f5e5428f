#if Configuration
/// One key of the configuration, and what it sets.
///
/// The tables of these are all that reads the configuration, all that the documentation is held against, and all that a
/// key may be called.
struct Setting<Target>: Sendable {
    /// The key in the section of the target.
    let key: String
    let form: Form
    /// Whether no report of accesses may show the value.
    var isSecret = false
    /// Whether it takes effect while a service runs.
    var isReloadable = false
    /// How a target's value is written; `nil` for one that has none.
    let text: @Sendable (Target) -> String?
    /// Reads the value into the target, if there is one.
    let read: @Sendable (SettingReader, inout Target) throws(ConfigurationError) -> Void
    /// Takes the value of another target.
    let copy: @Sendable (Target, inout Target) -> Void

    /// The same with its effect while a service runs.
    var reloadable: Setting {
        var setting = self
        setting.isReloadable = true
        return setting
    }

    /// The same for a target that holds this one.
    ///
    /// - Parameters:
    ///   - section: The section of this target in the other's.
    ///   - path: Where it is.
    /// - Returns: The setting.
    func within<Outer>(_ section: String, _ path: any WritableKeyPath<Outer, Target> & Sendable) -> Setting<Outer> {
        Setting<Outer>(
            key: "\(section).\(key)",
            form: form,
            isSecret: isSecret,
            isReloadable: isReloadable,
            text: { text($0[keyPath: path]) },
            read: { reader, target throws(ConfigurationError) in
                var inner = target[keyPath: path]
                try read(reader.section(section), &inner)
                target[keyPath: path] = inner
            },
            copy: { other, target in copy(other[keyPath: path], &target[keyPath: path]) }
        )
    }
}

extension SettingReader {
    /// Reads all settings of a target.
    func read<Target>(_ settings: [Setting<Target>], into target: inout Target) throws(ConfigurationError) {
        for setting in settings { try setting.read(self, &target) }
    }
}
#endif
