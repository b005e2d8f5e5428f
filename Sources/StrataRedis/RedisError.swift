internal import Strata

/// Why a call to Redis did not succeed.
///
/// `description` names the server and what went wrong. It never holds a key, a value or a password; ``serverMessage``
/// has the server's own text of an error reply, because some servers quote arguments in it.
public struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it was.
    ///
    /// More may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The address cannot be used: malformed URL, unsupported scheme, path too long.
        public static let invalidConfiguration = Code(description: "invalid configuration")
        /// A key, argument or reply is not what the call allows.
        public static let invalidArgument = Code(description: "invalid argument")
        /// No connection could be made: unresolvable name, refused, unreachable, or too late.
        public static let connectionFailed = Code(description: "connection failed")
        /// The connection ended while the call was under way.
        public static let connectionLost = Code(description: "connection lost")
        /// The server is not what was configured: it is a Sentinel, a node of a cluster, or a server of another
        /// protocol.
        ///
        /// See ``RedisTopology``.
        public static let wrongServer = Code(description: "wrong server")
        /// No Sentinel names a primary that calls itself one.
        ///
        /// The message names each Sentinel and what it has answered.
        public static let noPrimary = Code(description: "no primary")
        /// User name or password was refused, or is missing.
        public static let authentication = Code(description: "authentication failed")
        /// No encrypted connection could be made.
        ///
        /// ``RedisError/tlsReason`` tells why.
        public static let tls = Code(description: "TLS failed")
        /// The call's deadline passed.
        ///
        /// Its reply, if it still comes, is dropped.
        public static let timeout = Code(description: "timed out")
        /// Too much is under way already: calls in flight, or bytes waiting to be sent.
        public static let overloaded = Code(description: "overloaded")
        /// Redis has failed too often lately: it was not asked.
        ///
        /// See ``BreakerOptions``.
        public static let circuitOpen = Code(description: "circuit open")
        /// A cache's call has spent its budget for Redis: it was not asked again.
        ///
        /// See ``RedisConfiguration/redisBudget``.
        public static let budgetSpent = Code(description: "budget spent")
        /// The client was shut down.
        public static let shutDown = Code(description: "shut down")
        /// The server sent bytes that break the protocol or a limit.
        public static let protocolViolation = Code(description: "protocol violation")
        /// The server answered with an error.
        public static let server = Code(description: "error reply")
        /// A value or a reply is larger than the client's limits.
        ///
        /// See ``ReplyLimits``.
        public static let tooLarge = Code(description: "too large")
        /// The server answered with a type that the command does not have.
        public static let unexpectedReply = Code(description: "unexpected reply")
    }

    /// Whether the server may have run the command.
    public enum Effect: Sendable, Hashable {
        /// The command was certainly not run: its bytes were not sent, or the server refused it for its own state.
        case notApplied
        /// The command may or may not have been run.
        case ambiguous
    }

    /// What kind of failure it was.
    public var code: Code
    /// What went wrong, for a person.
    public var message: String
    /// The server, as `host:port` or the path of its socket.
    public var endpoint: String?
    /// Whether the server may have run the command.
    public var effect: Effect
    /// The text of the server's error reply.
    public var serverMessage: String?
    /// Why no encrypted connection could be made; `nil` unless the code is ``Code/tls``.
    public internal(set) var tlsReason: TLSReason?
    /// Whether this process has used up the time itself: the server is not to blame for it.
    var isOwnDelay = false

    /// An error with the given parts.
    public init(
        code: Code,
        message: String,
        endpoint: String? = nil,
        effect: Effect = .notApplied,
        serverMessage: String? = nil
    ) {
        self.code = code
        self.message = message
        self.endpoint = endpoint
        self.effect = effect
        self.serverMessage = serverMessage
    }

    /// The code, the message and the endpoint in one line.
    public var description: String {
        let place = endpoint.map { " (\($0))" } ?? ""
        return "Redis: \(code.description): \(message)\(place)"
    }

    /// The first word of the server's error reply, such as `WRONGTYPE` or `NOSCRIPT`.
    ///
    /// Servers before 7.0 put words of their own before the error of a command in a script: this is the word of the
    /// command.
    public var serverCode: Substring? { serverMessage.map { Self.code(in: $0) } }
}

extension RedisError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.description }
}

extension RedisError {
    /// An error reply as an error.
    ///
    /// The message names the reply's code alone, and only what has the form of one: the rest may quote arguments, and
    /// neither it nor a first word of any form is fit for a log.
    static func reply(_ text: String, endpoint: String?) -> RedisError {
        let word = code(in: text)
        let code: Code =
            switch word {
            case "NOAUTH", "WRONGPASS": .authentication
            default: .server
            }
        return RedisError(
            code: code,
            message: "the server answered \(printableCode(of: text))",
            endpoint: endpoint,
            effect: Self.refusedForState.contains(word) && !Self.isOfScript(text) ? .notApplied : .ambiguous,
            serverMessage: text
        )
    }

    /// The error of a call that was tried before: the server may have run the earlier attempt.
    func after(_ earlier: Effect) -> RedisError {
        guard earlier == .ambiguous else { return self }
        var error = self
        error.effect = .ambiguous
        return error
    }

    /// The code of an error reply, or words for that it has none.
    static func printableCode(of text: String) -> String {
        let word = code(in: text)
        return isCode(word) ? String(word) : "an error without a code"
    }

    /// The code of an error reply; its first word, where that is none.
    private static func code(in text: String) -> Substring {
        let first = text.prefix { $0 != " " }
        guard text.hasPrefix("ERR Error running script"), let script = text.firstRange(of: "@user_script") else {
            return first
        }
        // `@user_script:12: @user_script: 12: -OOM command not allowed`, or with less of that.
        let words = text[script.upperBound...].split(separator: ": ", maxSplits: 8)
            .map { part in (part.hasPrefix("-") ? part.dropFirst() : part).prefix { $0 != " " } }
        return words.first { isCode($0) && !$0.utf8.contains(where: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }
            ?? first
    }

    private static func isCode(_ word: Substring) -> Bool {
        (1...32).contains(word.utf8.count)
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Replies by which a server refuses a command for its own state, before running any of it.
    private static let refusedForState: Set<Substring> = [
        "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "READONLY", "NOAUTH", "NOPERM",
        "WRONGPASS", "NOSCRIPT", "MISCONF", "NOREPLICAS",
    ]

    /// Whether a command in a script or a function was answered so: what the script has done before stays.
    ///
    /// For the server's own state a script is refused at its first write only.
    static func isOfScript(_ text: String) -> Bool {
        (text.contains("@user_script") || text.contains("@user_function"))
            && !["READONLY", "OOM", "MISCONF", "NOREPLICAS"].contains { text.hasPrefix($0) || text.contains("-\($0) ") }
    }

    static func unexpected(_ command: String, endpoint: String? = nil) -> RedisError {
        RedisError(
            code: .unexpectedReply,
            message: "\(command) was answered with the wrong type",
            endpoint: endpoint,
            effect: .ambiguous
        )
    }

    /// A string of a reply is above the limits.
    static func oversized(_ count: Int, endpoint: String?) -> RedisError {
        RedisError(
            code: .tooLarge,
            message: "a reply holds a string of \(count) bytes, more than the client accepts",
            endpoint: endpoint,
            effect: .ambiguous
        )
    }

    /// The primary is another server now.
    static func moved(_ endpoint: String?) -> RedisError {
        RedisError(code: .connectionLost, message: "another server is the primary now", endpoint: endpoint)
    }

    static func shutDown(_ endpoint: String?) -> RedisError {
        RedisError(code: .shutDown, message: "the client was shut down", endpoint: endpoint)
    }
}
