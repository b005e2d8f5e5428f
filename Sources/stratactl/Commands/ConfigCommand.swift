import ArgumentParser
import StrataRedis

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Shows which settings apply, and where they come from.",
        discussion: "No server is asked. Of a password only its being there is shown, and where it comes from."
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption

    func run() async throws {
        let (configuration, address, password) = try connection.configuration()
        var settings = [
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
            Setting(
                "prefix",
                Self.printable(prefix.prefix),
                prefix.prefix == PrefixOption.byDefault ? "default" : "--prefix"
            ),
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
