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
        guard escaped else { return Keyspace(keyspace, prefix: prefix.prefix) }
        guard let bytes = PrintableText.unescape(keyspace), let name = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.usage, "the keyspace holds a backslash that begins no escape, or is no UTF-8")
        }
        return Keyspace(name, prefix: prefix.prefix)
    }
}

/// The prefix of keyspaces.
struct PrefixOption: ParsableArguments {
    @Option(help: "The prefix of the keyspace.")
    var prefix = "strata"
}
