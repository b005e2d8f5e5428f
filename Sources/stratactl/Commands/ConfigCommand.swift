import ArgumentParser
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Shows which settings apply, and where they come from.",
        discussion: """
            No server is asked. A password itself is not shown, only whether it is set, and where it comes from. With \
            --contexts the servers of the configuration file are listed.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption

    @Flag(help: "List the servers of the configuration file.")
    var contexts = false

    func run() async throws {
        if contexts { return try ContextList.print(chosen: connection.chosen()?.name, in: output.format) }
        let chosen = try connection.chosen()
        let (configuration, address, password) = try connection.configuration()
        let prefix = try prefix.setting(connection)
        var settings = [
            Setting("file", Self.file, "default"),
            Setting("context", chosen.map { Self.printable($0.name) } ?? "none", chosen?.source ?? "default"),
            Setting("server", configuration.place, address),
            Setting("topology", configuration.topology.rawValue, address),
            Setting("database", String(configuration.database), address),
            Setting("user", configuration.username.map { Self.printable($0) } ?? "default", address),
            Setting("password", configuration.password == nil ? "none" : "set", password),
            Setting("TLS", Self.text(configuration.tls), address),
        ]
        if let sentinels = configuration.sentinels {
            settings.append(Setting("Sentinels", Self.printable(sentinels.description), address))
        }
        settings += [
            Setting("prefix", Self.printable(prefix.value), prefix.from),
            Setting("connecting", "up to \(TimeSpan.text(configuration.connectTimeout))", "default"),
            Setting("a command", "up to \(TimeSpan.text(configuration.commandTimeout))", "default"),
            Setting("name", configuration.clientName ?? "", "default"),
        ]
        switch output.format {
        case .table, .plain:
            var table = Table(.left("SETTING"), .left("VALUE"), .left("FROM"))
            table.rows = settings.map { [$0.name, $0.value, $0.from] }
            StandardOutput.table(table, in: output.format)
        case .json: try JSONDocument.print(settings)
        }
    }

    /// The configuration file, and whether it is there.
    private static var file: String {
        let environment = ProcessInfo.processInfo.environment
        guard let path = ContextFile.path(environment) else { return "none, because there is no home directory" }
        return printable(path) + (FileManager.default.fileExists(atPath: path) ? "" : ", not there")
    }

    private static func printable(_ text: String) -> String { PrintableText.escape(Array(text.utf8)) }

    private static func text(_ tls: TLSOptions?) -> String {
        guard let tls else { return "no" }
        return tls.dangerouslyAcceptsAnyCertificate ? "yes, and any certificate is accepted" : "yes, verified"
    }

    private struct Setting: Encodable {
        let name: String
        let value: String
        let from: String

        init(_ name: String, _ value: String, _ from: String) {
            self.name = name
            self.value = value
            self.from = from
        }
    }
}
