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
                By Sentinels: redis-sentinel://[user@]host[:port],host[:port][/database]?master=name. A cluster: \
                redis-cluster://[user@]host[:port],host[:port]. Both with TLS: rediss-sentinel:// and \
                rediss-cluster://. Without it STRATA_REDIS_URL counts, then \
                redis://127.0.0.1:6379.
                """
        )
    )
    var url: String?

    @Option(
        help: ArgumentHelp(
            "A file whose only line is the password.",
            discussion: "Its owner alone may be able to read it. Without it STRATA_REDIS_PASSWORD counts.",
            valueName: "file"
        )
    )
    var passwordFile: String?

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
        var (configuration, source) = try address()
        let addressSource = source
        if let passwordFile {
            configuration.password = Secret(try PasswordFile.read(passwordFile))
            source = "--password-file"
        } else if let password = Self.environment("STRATA_REDIS_PASSWORD") {
            configuration.password = Secret(password)
            source = "STRATA_REDIS_PASSWORD"
        }
        configuration.clientName = "stratactl"
        // A person waits here, perhaps far from the server, not a request.
        configuration.connectTimeout = .seconds(5)
        configuration.commandTimeout = .seconds(10)
        configuration.redisBudget = .seconds(10)
        configuration.healthWindow = .seconds(10)
        configuration.replyLimits.bulkLength = 64 << 20
        return (configuration, addressSource, configuration.password == nil ? "default" : source)
    }

    private func address() throws -> (RedisConfiguration, source: String) {
        let variable = Self.environment("STRATA_REDIS_URL")
        let source = url != nil ? "--url" : variable != nil ? "STRATA_REDIS_URL" : "default"
        do {
            let text = url ?? variable ?? "redis://127.0.0.1:6379"
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
