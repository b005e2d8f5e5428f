/// The commands that open a connection, sent in one write: AUTH, HELLO, SELECT, READONLY, CLIENT SETNAME; PING where
/// nothing else would tell whether a Redis server listens that lets us in.
///
/// HELLO keeps the protocol at RESP2, and says what the server is: see ``misplacement(_:endpoint:isNamed:)``.
struct Handshake: Sendable {
    enum Step: Sendable {
        case authenticate
        case identify
        case select
        /// A replica of a cluster serves reads to connections that have asked for it.
        case readOnly
        case name
        case ping
        /// The server remembers what the connection reads, and tells a link of its changes.
        case track
    }

    /// The steps of every connection.
    let steps: [Step]
    let topology: RedisTopology
    private let fixed: RedisCredentials?
    private let source: CredentialSource?
    private let database: Int
    private let clientName: String?

    /// - Parameters:
    ///   - configuration: The credentials, and what the server is to be.
    ///   - identifies: Whether the server is asked what it is; one that is played by a test may not know how to answer.
    init(_ configuration: RedisConfiguration, identifies: Bool = true) {
        topology = configuration.topology
        fixed = configuration.password.map { RedisCredentials(username: configuration.username, password: $0) }
        source = configuration.credentials
        database = configuration.database
        clientName = configuration.clientName.map {
            $0 + "@" + InstanceName.connectionName(configuration.instanceName)
        }
        var steps: [Step] = []
        let logsIn = fixed != nil || source != nil
        if logsIn { steps.append(.authenticate) }
        if identifies { steps.append(.identify) }
        if database != 0 { steps.append(.select) }
        if configuration.isReplica { steps.append(.readOnly) }
        if clientName != nil { steps.append(.name) }
        if !logsIn && database == 0 { steps.append(.ping) }
        self.steps = steps
    }

    /// Writes the commands of the steps.
    ///
    /// - Parameters:
    ///   - steps: ``steps``, perhaps with one more.
    ///   - link: The number of the connection that is told what becomes of what this one reads.
    ///   - writer: Gets the commands.
    func encode(_ steps: [Step], trackingFor link: Int64? = nil, into writer: inout CommandWriter) {
        for step in steps {
            switch step {
            case .track: if let link { Self.encodeTracking(for: link, into: &writer) }
            case .authenticate: encodeLogin(into: &writer)
            case .identify:
                writer.begin(2)
                writer.argument("HELLO" as StaticString)
                writer.argument("2" as StaticString)
            case .select:
                writer.begin(2)
                writer.argument("SELECT" as StaticString)
                writer.argument(Int64(database))
            case .readOnly:
                writer.begin(1)
                writer.argument("READONLY" as StaticString)
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

    /// Has the server remember what a connection reads, and tell another one; `nil` ends that.
    static func encodeTracking(for link: Int64?, into writer: inout CommandWriter) {
        writer.begin(link == nil ? 3 : 5)
        writer.argument("CLIENT" as StaticString)
        writer.argument("TRACKING" as StaticString)
        guard let link else { return writer.argument("OFF" as StaticString) }
        writer.argument("ON" as StaticString)
        writer.argument("REDIRECT" as StaticString)
        writer.argument(link)
    }

    /// Tells the credentials that are in force now from those before and after.
    var generation: UInt64 { source?.keeper.generation ?? 0 }

    /// AUTH with what is in force now.
    func encodeLogin(into writer: inout CommandWriter) {
        let current = source == nil ? fixed : source?.keeper.current
        (current ?? RedisCredentials(password: Secret(""))).encodeLogin(into: &writer)
    }

    /// What a step's reply means.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - reply: Its reply.
    ///   - endpoint: The server.
    ///   - isNamed: Whether Sentinels have named it as their primary.
    /// - Returns: `nil` when the connection may be used.
    func failure(of step: Step, _ reply: RESPValue, endpoint: String, isNamed: Bool = false) -> RedisError? {
        switch reply {
        case .error(let text) where step == .identify && !refusesAll(text): return nil
        // The link that it names may be gone by now; the code that asked for it looks at the reply.
        case .error where step == .track: return nil
        case .array where step == .identify:
            return ServerIdentity(reply).flatMap { misplacement($0, endpoint: endpoint, isNamed: isNamed) }
        case .status: return nil
        // It could not save its data, and can be read all the same.
        case .error(let text) where step == .ping && text.hasPrefix("MISCONF "): return nil
        case .error(let text): return refusal(of: step, text, endpoint: endpoint)
        default:
            let message = "the handshake got an answer that no Redis server gives"
            return RedisError(code: .protocolViolation, message: message, endpoint: endpoint)
        }
    }

    private func refusal(of step: Step, _ text: String, endpoint: String) -> RedisError? {
        // An ACL may forbid naming the connection, and some servers and proxies have no CLIENT at all, which does no
        // harm.
        if step == .name && !refusesAll(text) { return nil }
        var error = RedisError.reply(text, endpoint: endpoint)
        error.effect = .notApplied
        // A server that is full says so to each new connection, before it has read a command.
        if text.hasPrefix("ERR max number of clients") {
            error.message = "the server takes no more clients"
        } else if step == .authenticate {
            // A server that does not have the command quotes its arguments, so nothing but the code of its answer is
            // kept.
            let code = RedisError.printableCode(of: text)
            error.serverMessage = code
            error.message = Self.reason(of: text, code)
            if !Self.refusesForState.contains(code) { error.code = .authentication }
        } else {
            error.message = "the handshake was refused: " + PrintableText.escape(Array(text.utf8.prefix(200)))
        }
        return error
    }

    /// Codes that say nothing about user name and password.
    private static let refusesForState: Set<String> = ["LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "DENIED"]

    private static func reason(of text: String, _ code: String) -> String {
        if code == "WRONGPASS" { return "the user name or the password is wrong, or the user is disabled" }
        if text.contains("without any password configured") {
            return "a password was given, but the server has none for the default user"
        }
        return "AUTH was refused: \(code)"
    }
}
