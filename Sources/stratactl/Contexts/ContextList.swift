import StrataRedis

/// The servers of the configuration file, for a person or a program.
enum ContextList {
    private struct Row: Encodable {
        let name: String
        /// The address without its password.
        let server: String
        let user: String?
        let prefix: String?
        let passwordFile: String?
        /// Whether it is the one that applies.
        let applies: Bool
        /// What is wrong with the address.
        let fault: String?

        init(_ name: String, _ context: ServerContext, applies: Bool) {
            self.name = name
            self.applies = applies
            prefix = context.prefix
            passwordFile = context.passwordFile
            do {
                let configuration = try RedisConfiguration(url: context.url)
                (server, user, fault) = (configuration.place, configuration.username, nil)
            } catch {
                (server, user, fault) = ("-", nil, (error as? RedisError)?.message ?? "\(error)")
            }
        }
    }

    /// Prints them.
    ///
    /// - Parameters:
    ///   - chosen: The name of the one that applies; `nil` for none.
    ///   - format: How they are printed.
    /// - Throws: ``Failure`` for a file that cannot be used.
    static func print(chosen: String?, in format: OutputOptions.Format) throws {
        let file = try ContextFile.read()
        let rows = (file?.contexts ?? [:]).sorted { $0.key < $1.key }
            .map { Row($0.key, $0.value, applies: $0.key == chosen) }
        switch format {
        case .table, .plain:
            var table = Table(.left("CONTEXT"), .left("SERVER"), .left("USER"), .left("PREFIX"), .left("PASSWORD FILE"))
            table.rows = rows.map { row in
                [
                    printable(row.name) + (row.applies ? " *" : ""), row.fault ?? row.server,
                    printable(row.user ?? "-"),
                    printable(row.prefix ?? "-"), printable(row.passwordFile ?? "-"),
                ]
            }
            StandardOutput.table(table, in: format)
        case .json: try JSONDocument.print(rows)
        }
        guard rows.isEmpty else { return }
        StandardError.line("stratactl: no server has a name: docs/stratactl.md describes the configuration file")
    }

    private static func printable(_ text: String) -> String { PrintableText.escape(Array(text.utf8)) }
}
