import ArgumentParser
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where the server is, and how to log in.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Where the server is: redis://[user@]host[:port][/database], rediss:// for TLS, or \
            unix://[user@]/path[?db=database].
            """,
            discussion: """
                With Sentinels: redis-sentinel://[user@]host[:port],host[:port][/database]?master=name. A cluster: \
                redis-cluster://[user@]host[:port],host[:port]. Both with TLS: rediss-sentinel:// and \
                rediss-cluster://. Without --url and --context the first of these counts: STRATA_REDIS_URL, the \
                context in STRATACTL_CONTEXT, that of the configuration file, redis://127.0.0.1:6379.
                """
        )
    )
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The name of a server in the configuration file.",
            discussion: """
                The file is $XDG_CONFIG_HOME/stratactl/config.json, else ~/.config/stratactl/config.json. `stratactl \
                config --contexts` lists its contexts.
                """,
            valueName: "name"
        ),
        completion: .custom { _, _, _ in KnownNames.contexts }
    )
    var context: String?

    @Option(
        help: ArgumentHelp(
            "A file whose only line is the password.",
            discussion: """
                Only its owner may have access to it (mode 600). Without it the context's passwordFile counts, then \
                STRATA_REDIS_PASSWORD where the address given has no password of its own.
                """,
            valueName: "file"
        ),
        completion: .file()
    )
    var passwordFile: String?

    func validate() throws {
        if url != nil, context != nil { throw ValidationError("--url and --context exclude each other") }
    }

    /// Does something with a client, and closes it.
    func withClient<Result>(_ body: (RedisClient) async throws -> Result) async throws -> Result {
        let redis = try RedisClient(configuration().configuration)
        let result: Result
        do {
            result = try await body(redis)
        } catch {
            await redis.shutDown()
            throw error
        }
        await redis.shutDown()
        return result
    }

    /// The configuration that applies, and where its address and its password come from.
    func configuration() throws -> (configuration: RedisConfiguration, address: String, password: String) {
        let chosen = try chosen()
        var (configuration, source) = try address(chosen)
        let addressSource = source
        if let passwordFile {
            configuration.password = Secret(try PasswordFile.read(passwordFile))
            source = "--password-file"
        } else if let chosen, let path = chosen.context.passwordFile {
            // A password of the environment may be another server's.
            configuration.password = Secret(try PasswordFile.read(Self.path(path)))
            source = chosen.label
        } else if let password = Self.environment("STRATA_REDIS_PASSWORD"),
            configuration.password == nil || addressSource == "STRATA_REDIS_URL"
        {
            // An address with a password of its own is another server's, unless both stand in the environment.
            configuration.password = Secret(password)
            source = "STRATA_REDIS_PASSWORD"
        }
        configuration.clientName = "stratactl"
        // A person waits here, perhaps far from the server, not a request.
        configuration.connectTimeout = .seconds(5)
        configuration.commandTimeout = .seconds(10)
        configuration.redisBudget = .seconds(10)
        configuration.healthWindow = .seconds(10)
        configuration.linkPingTimeout = .seconds(10)
        // No other client has to be protected from a slow server.
        configuration.breaker.minimumCalls = .max
        configuration.replyLimits.bulkLength = 64 << 20
        return (configuration, addressSource, configuration.password == nil ? "default" : source)
    }

    /// A context, and what has named it.
    struct Chosen {
        let name: String
        let context: ServerContext
        let source: String

        /// The context as the source of a setting.
        var label: String { "context \(PrintableText.escape(Array(name.utf8)))" }
    }

    /// The context that applies; `nil` if an address is given, or none is named.
    ///
    /// The file is read only where it counts.
    func chosen() throws(Failure) -> Chosen? {
        guard url == nil else { return nil }
        if let context { return try Self.chosen(context, "--context") }
        guard Self.environment("STRATA_REDIS_URL") == nil else { return nil }
        if let name = Self.environment("STRATACTL_CONTEXT") { return try Self.chosen(name, "STRATACTL_CONTEXT") }
        guard let file = try ContextFile.read(), let name = file.standard else { return nil }
        return Chosen(name: name, context: try file.context(name), source: PrintableText.escape(Array(file.path.utf8)))
    }

    private static func chosen(_ name: String, _ source: String) throws(Failure) -> Chosen {
        guard let file = try ContextFile.read() else {
            throw Failure(
                .usage,
                "\(source): there is no configuration file; `stratactl config` shows where it is looked for"
            )
        }
        return Chosen(name: name, context: try file.context(name), source: source)
    }

    /// A path of the configuration file, with the home where it begins with `~/`.
    private static func path(_ text: String) -> String {
        guard text.hasPrefix("~/"), let home = environment("HOME") else { return text }
        return home + text.dropFirst()
    }

    private func address(_ chosen: Chosen?) throws -> (RedisConfiguration, source: String) {
        let variable = chosen == nil ? Self.environment("STRATA_REDIS_URL") : nil
        let source = url != nil ? "--url" : chosen?.label ?? (variable != nil ? "STRATA_REDIS_URL" : "default")
        do {
            let text = url ?? chosen?.context.url ?? variable ?? "redis://127.0.0.1:6379"
            let configuration = try RedisConfiguration(url: text)
            if url != nil, configuration.password != nil || configuration.sentinels?.password != nil {
                StandardError.line(
                    "stratactl: warning: every user of this machine can read the password in --url; "
                        + "STRATA_REDIS_URL, STRATA_REDIS_PASSWORD and --password-file keep it to yourself"
                )
            }
            return (configuration, source)
        } catch let error as RedisError {
            throw Failure(.usage, "\(source): \(error.message)")
        }
    }

    /// A variable of the environment; `nil` when it is empty.
    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
