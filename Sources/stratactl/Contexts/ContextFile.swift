import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The file in which a person names servers: JSON, in which comments and a comma behind the last member are allowed.
///
/// ```json
/// {
///   "context": "staging",
///   "contexts": {
///     "staging": { "url": "redis://ops@redis.staging:6379", "passwordFile": "~/.config/stratactl/staging" },
///     "shop": { "url": "rediss://ops@redis.prod:6380", "passwordFile": "~/.config/stratactl/prod", "prefix": "shop" },
///   }
/// }
/// ```
struct ContextFile: Sendable {
    private struct Content: Decodable {
        let context: String?
        let contexts: [String: ServerContext]?

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case context
            case contexts
        }

        init(from decoder: any Decoder) throws {
            try UnknownMember.check(decoder, CodingKeys.self)
            let members = try decoder.container(keyedBy: CodingKeys.self)
            context = try members.decodeIfPresent(String.self, forKey: .context)
            contexts = try members.decodeIfPresent([String: ServerContext].self, forKey: .contexts)
        }
    }

    /// Where it lies.
    let path: String
    /// The name of the context that applies where none is asked for.
    let standard: String?
    /// By name.
    let contexts: [String: ServerContext]

    private static let longest = 1 << 20

    /// Where the file lies by the rules of the XDG base directories; `nil` without a home.
    static func path(_ environment: [String: String]) -> String? {
        // A path that is not absolute is to be ignored.
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            return "\(folder)/stratactl/config.json"
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return "\(home)/.config/stratactl/config.json"
    }

    /// Reads the file; `nil` when there is none.
    ///
    /// - Throws: ``Failure`` in one line that names the file, and quotes nothing of an address.
    static func read(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws(Failure)
        -> ContextFile?
    {
        guard let path = path(environment) else { return nil }
        let name = PrintableText.escape(Array(path.utf8))
        let file: RegularFile
        do throws(RegularFile.Fault) {
            file = try RegularFile(path, upTo: longest)
        } catch {
            guard !error.isMissing else { return nil }
            throw Failure(.usage, "\(name): \(error.reason)")
        }
        // A user who may write it decides where passwords go.
        guard file.isOwn, !file.isWritableByAll else {
            throw Failure(.usage, "\(name): others may change it; chown and chmod 600 fix that")
        }
        let content: Content
        do {
            let decoder = JSONDecoder()
            decoder.allowsJSON5 = true
            content = try decoder.decode(Content.self, from: Data(file.bytes))
        } catch {
            throw Failure(.usage, "\(name): \(reason(of: error))")
        }
        let found = ContextFile(path: path, standard: content.context, contexts: content.contexts ?? [:])
        if !file.isPrivate { try found.checkSecrets() }
        if let standard = found.standard { _ = try found.context(standard) }
        return found
    }

    /// The context of a name.
    func context(_ name: String) throws(Failure) -> ServerContext {
        if let context = contexts[name] { return context }
        let place = PrintableText.escape(Array(path.utf8))
        let word = Array(name.prefix(40))
        let meant = contexts.keys.map { (name: $0, distance: KeyspaceInspector.editDistance(word, Array($0))) }
            .filter { $0.distance <= max(1, word.count / 3) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        let advice =
            meant.map { "did you mean '\(PrintableText.escape(Array($0.name.utf8)))'?" }
            ?? "`stratactl config --contexts` lists them"
        throw Failure(
            .usage,
            "there is no context '\(PrintableText.escape(Array(name.utf8)))' in \(place); \(advice)"
        )
    }

    /// Refuses passwords in a file that others may read.
    private func checkSecrets() throws(Failure) {
        for (name, context) in contexts.sorted(by: { $0.key < $1.key }) {
            guard let configuration = try? RedisConfiguration(url: context.url),
                configuration.password != nil || configuration.sentinels?.password != nil
            else { continue }
            throw Failure(
                .usage,
                "\(PrintableText.escape(Array(path.utf8))): others may read it, and the context "
                    + "'\(PrintableText.escape(Array(name.utf8)))' holds a password; use chmod 600, or passwordFile"
            )
        }
    }

    /// What is wrong with the file, in words that quote no value.
    private static func reason(of error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty
                ? "the whole" : path.map { PrintableText.escape(Array($0.stringValue.utf8)) }.joined(separator: ".")
        }
        switch error {
        case let unknown as UnknownMember:
            let name = PrintableText.escape(Array(unknown.name.prefix(40).utf8))
            return "'\(name)' is not a known member; there are \(unknown.known.joined(separator: ", "))"
        case DecodingError.dataCorrupted(let context):
            let numbers = context.underlyingError.map { "\($0)".matches(of: /line: (\d+), column: (\d+)/) }?.first?
                .output
            return numbers.map { "it is not JSON, at line \($0.1), column \($0.2)" } ?? "it is not JSON"
        case DecodingError.keyNotFound(let key, let context):
            return "\(place(context.codingPath)) has no '\(key.stringValue)'"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            return "\(place(context.codingPath)) has the wrong type"
        default: return "it cannot be read"
        }
    }
}
