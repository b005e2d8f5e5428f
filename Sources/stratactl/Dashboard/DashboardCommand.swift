#if Dashboard
import ArgumentParser
import Hummingbird
import Logging
import Strata
import StrataRedis

struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract:
            "Serves a page in the browser: instances, hit ratios, latencies, hottest keys, leases, changes, doctor.",
        discussion: """
            To see it you need a token: the one in --token-file, or one that is printed at the start. It is served on \
            this machine only, because it has no TLS; if others are to see it, put a proxy with TLS in front of it. It \
            changes nothing, unless --allow-removal is given. It needs a user for 'inspect', with --allow-removal one \
            for 'remove' as well. Ends with Ctrl-C.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var prefix: PrefixOption

    @Option(help: ArgumentHelp("The port; 0 for any that is free.", valueName: "n"))
    private var port = 8321

    @Option(help: ArgumentHelp("The address; any other than 127.0.0.1 and ::1 needs --expose.", valueName: "address"))
    private var address = "127.0.0.1"

    @Flag(
        help:
            "Serve on an address that other machines can reach. Tokens and keys then go over the network in the clear."
    )
    private var expose = false

    @Option(
        help: ArgumentHelp(
            "A file whose only line is the token, of at least 16 characters.",
            discussion: "Only its owner may have access to it (mode 600).",
            valueName: "file"
        )
    )
    private var tokenFile: String?

    @Flag(help: "Let keys be removed, each behind a confirmation with the token.")
    private var allowRemoval = false

    @Option(help: ArgumentHelp("Seconds between two samples, 0.2 to 3600.", valueName: "seconds"))
    private var interval = 2.0

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is not within 0 to 65535") }
        guard (0.2...3600).contains(interval) else { throw ValidationError("--interval is not within 0.2 to 3600") }
        guard expose || ["127.0.0.1", "::1"].contains(address) else {
            throw ValidationError(
                "--address \(PrintableText.escape(Array(address.utf8))) is neither 127.0.0.1 nor ::1: add --expose"
            )
        }
    }

    func run() async throws {
        let token = try tokenFile.map { try PasswordFile.read($0) } ?? DashboardSessions.secret()
        guard token.count >= DashboardSessions.leastToken else {
            throw Failure(.usage, "--token-file: the token has fewer than \(DashboardSessions.leastToken) characters")
        }
        let settings = DashboardSite.Settings(
            prefix: try prefix.resolved(connection),
            removes: allowRemoval,
            interval: .seconds(interval)
        )
        let (host, isPrinted) = (address, tokenFile == nil)
        try await connection.withClient { redis in
            let site = DashboardSite(redis, DashboardSessions(token: token), settings)
            var logger = Logger(label: "stratactl.dashboard")
            logger.logLevel = .notice
            let application = Application(
                router: site.router,
                configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: nil),
                onServerRunning: { channel in
                    let place = host.contains(":") ? "[\(host)]" : host
                    StandardOutput.lines(["http://\(place):\(channel.localAddress?.port ?? 0)/"])
                    if isPrinted { StandardOutput.lines(["token: \(token)"]) }
                },
                logger: logger
            )
            do { try await application.runService() } catch let error as RedisError { throw error } catch {
                throw Failure(.failed, "the dashboard cannot be served: \(error)")
            }
        }
    }
}
#endif
