import ArgumentParser
import StrataRedis

/// The first argument.
enum CommandName {
    /// Refuses a command that there is not, and names those that may be meant.
    static func check(_ arguments: some Sequence<String>) throws(Failure) {
        guard let first = arguments.first(where: { _ in true }), !first.hasPrefix("-"), !first.isEmpty else { return }
        let names = Stratactl.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
        guard !names.contains(first) else { return }
        let word = Array(first.lowercased().prefix(40))
        let meant = names.map { (name: $0, distance: KeyspaceInspector.editDistance(word, Array($0))) }
            .filter { $0.distance <= max(1, word.count / 3) || $0.name.hasPrefix(String(word)) && word.count > 1 }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .prefix(3).map { "'\($0.name)'" }
        let advice =
            meant.isEmpty ? "`stratactl --help` lists them" : "did you mean \(meant.joined(separator: " or "))?"
        throw Failure(.usage, "there is no command '\(PrintableText.escape(Array(first.utf8)))'; \(advice)")
    }
}
