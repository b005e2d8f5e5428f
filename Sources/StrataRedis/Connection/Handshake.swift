/// The commands that open a connection, sent in one write: AUTH, SELECT, CLIENT SETNAME; PING where nothing else would tell
/// whether a Redis server listens that lets us in.
struct Handshake: Sendable {
    enum Step: Sendable {
        case authenticate
        case select
        case name
        case ping
    }

    let steps: [Step]
    private let username: String?
    private let password: Secret?
    private let database: Int
    private let clientName: String?

    init(_ configuration: RedisConfiguration) {
        username = configuration.username
        password = configuration.password
        database = configuration.database
        clientName = configuration.clientName
        var steps: [Step] = []
        if password != nil { steps.append(.authenticate) }
        if database != 0 { steps.append(.select) }
        if clientName != nil { steps.append(.name) }
        if password == nil && database == 0 { steps.append(.ping) }
        self.steps = steps
    }

    func encode(into writer: inout CommandWriter) {
        for step in steps {
            switch step {
            case .authenticate:
                writer.begin(username == nil ? 2 : 3)
                writer.argument("AUTH" as StaticString)
                if let username { writer.argument(username) }
                writer.argument(password?.text ?? "")
            case .select:
                writer.begin(2)
                writer.argument("SELECT" as StaticString)
                writer.argument(Int64(database))
            case .name:
                writer.begin(3)
                writer.argument("CLIENT" as StaticString)
                writer.argument("SETNAME" as StaticString)
                writer.argument(clientName ?? "")
            case .ping:
                writer.begin(1)
                writer.argument("PING" as StaticString)
            }
        }
    }

    /// What a step's reply means: `nil` when the connection may be used.
    func failure(of step: Step, _ reply: RESPValue, endpoint: String) -> RedisError? {
        guard case .error(let text) = reply else { return nil }
        // An ACL may forbid naming the connection, which harms nobody.
        if step == .name && text.hasPrefix("NOPERM") { return nil }
        var error = RedisError.reply(text, endpoint: endpoint)
        error.message = "the handshake was refused: " + Self.reason(of: step, text)
        error.effect = .notApplied
        if step == .authenticate {
            error.code = .authentication
            error.serverMessage = error.serverCode.map(String.init)
        }
        return error
    }

    /// The server's own words, but not where they answer AUTH: a server that does not know the command quotes its arguments.
    private static func reason(of step: Step, _ text: String) -> String {
        guard step == .authenticate else { return PrintableText.escape(Array(text.utf8.prefix(200))) }
        if text.hasPrefix("WRONGPASS") { return "user name or password are wrong, or the user is disabled" }
        if text.contains("without any password configured") {
            return "a password was given, but the server has none for the default user"
        }
        return "the server does not accept AUTH"
    }
}
