import ArgumentParser
import Strata
import StrataRedis

/// Names that a shell offers for the word that is being typed.
///
/// A shell waits for them, so they take a second at most, and what goes wrong is no names.
enum KnownNames {
    private static let timeLimit: Duration = .seconds(1)

    /// The servers of the configuration file.
    static var contexts: [String] {
        guard let file = try? ContextFile.read() else { return [] }
        return file.contexts.keys.filter { isPlain($0) }.sorted()
    }

    /// The keyspaces of the server that the words before name.
    static var keyspaces: CompletionKind { .custom { words, _, _ in await keyspaces(words) } }

    private static func keyspaces(_ words: [String]) async -> [String] {
        guard
            let connection = try? ConnectionOptions.parse(
                options(["--url", "--context", "--password-file"], of: words)
            ),
            let prefix = try? PrefixOption.parse(options(["--prefix"], of: words)).resolved(connection),
            var (configuration, _, _) = try? connection.configuration()
        else { return [] }
        configuration.connectTimeout = timeLimit
        configuration.commandTimeout = timeLimit
        guard let redis = try? RedisClient(configuration) else { return [] }
        let end = MonotonicInstant.now.advanced(by: timeLimit)
        let found = try? await redis.keyspaces(prefix: prefix, until: end)
        await redis.shutDown()
        return found?.map(\.name).filter { isPlain($0) } ?? []
    }

    /// The options of these names, with their values, among the words of a command line.
    static func options(_ names: [String], of words: [String]) -> [String] {
        var found: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" { break }
            if names.contains(word), let value = rest.popFirst() {
                found += [word, value]
            } else if let name = names.first(where: { word.hasPrefix("\($0)=") }) {
                found += [name, String(word.dropFirst(name.count + 1))]
            }
        }
        return found
    }

    /// Whether a shell takes a name for one word, and nothing in it for a command.
    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "@"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }
}
