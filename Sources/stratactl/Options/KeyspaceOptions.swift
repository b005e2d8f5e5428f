import ArgumentParser
import StrataRedis

/// Which keyspace.
struct KeyspaceOptions: ParsableArguments {
    @Argument(help: "The name of the keyspace.", completion: KnownNames.keyspaces)
    var keyspace: String

    @OptionGroup var prefix: PrefixOption

    @Flag(
        help: ArgumentHelp(
            "Read keyspace and keys as they are printed: with \\xHH, \\u{…}, \\\\, \\# and \\= as escapes.",
            discussion: "Without it they are taken literally."
        )
    )
    var escaped = false

    func resolved(_ connection: ConnectionOptions) throws(Failure) -> Keyspace {
        try Self.keyspace(keyspace, prefix: prefix.resolved(connection), escaped: escaped)
    }

    /// The keyspace that a text on the command line names.
    static func keyspace(_ text: String, prefix: String, escaped: Bool) throws(Failure) -> Keyspace {
        guard escaped else { return Keyspace(text, prefix: prefix) }
        guard let bytes = PrintableText.unescape(text), let name = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.usage, "the keyspace has an invalid backslash escape, or is not UTF-8")
        }
        return Keyspace(name, prefix: prefix)
    }
}

/// The prefix of keyspaces.
struct PrefixOption: ParsableArguments {
    static let byDefault = "strata"

    @Option(
        help: ArgumentHelp(
            "The prefix of the keyspace.",
            discussion: "Without it the context's prefix counts, then '\(PrefixOption.byDefault)'."
        )
    )
    var prefix: String?

    /// The prefix that applies.
    func resolved(_ connection: ConnectionOptions) throws(Failure) -> String { try setting(connection).value }

    /// The prefix that applies, and where it comes from.
    func setting(_ connection: ConnectionOptions) throws(Failure) -> (value: String, from: String) {
        if let prefix { return (prefix, "--prefix") }
        if let chosen = try connection.chosen(), let prefix = chosen.context.prefix { return (prefix, chosen.label) }
        return (Self.byDefault, "default")
    }
}
