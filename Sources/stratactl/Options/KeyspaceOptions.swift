import ArgumentParser
import StrataRedis

/// Which keyspace.
struct KeyspaceOptions: ParsableArguments {
    @Argument(help: "The name of the keyspace.")
    var keyspace: String

    @OptionGroup var prefix: PrefixOption

    @Flag(
        help: ArgumentHelp(
            "Read keyspace and keys as they are printed: with \\xHH, \\u{…}, \\\\, \\# and \\= as escapes.",
            discussion: "Without it they are taken literally."
        )
    )
    var escaped = false

    func resolved() throws(Failure) -> Keyspace {
        try Self.keyspace(keyspace, prefix: prefix.prefix, escaped: escaped)
    }

    /// The keyspace that a text on the command line names.
    static func keyspace(_ text: String, prefix: String, escaped: Bool) throws(Failure) -> Keyspace {
        guard escaped else { return Keyspace(text, prefix: prefix) }
        guard let bytes = PrintableText.unescape(text), let name = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.usage, "the keyspace holds a backslash that begins no escape, or is no UTF-8")
        }
        return Keyspace(name, prefix: prefix)
    }
}

/// The prefix of keyspaces.
struct PrefixOption: ParsableArguments {
    static let byDefault = "strata"

    @Option(help: "The prefix of the keyspace.")
    var prefix = PrefixOption.byDefault
}
