extension RedisServer {
    /// How a private server is started.
    ///
    /// By default: `redis-server` (or `valkey-server`) from PATH, a free port of the loopback interface and a
    /// Unix-domain socket, nothing saved to disk, no password.
    public struct Configuration: Sendable {
        /// The server program; a path, or a name to search in PATH.
        ///
        /// `nil`, the default, takes the environment's `STRATA_REDIS_SERVER`, then `redis-server`, then
        /// `valkey-server`.
        public var executable: String?
        /// Whether the server listens on a loopback TCP port.
        ///
        /// On by default; the Unix-domain socket is always there.
        public var listensOnTCP = true
        /// The TCP port; `nil`, the default, takes a free one.
        public var port: UInt16?
        /// Lines for the configuration file, behind the kit's own, so that they take precedence.
        public var directives: [Directive]
        /// The name and password with which the kit itself talks to the server; `nil`, the default, for none.
        ///
        /// Without a user name the password also becomes the server's (`requirepass`). A directive has to make a user
        /// with a name, for example `"user tester on >secret ~* &* +@all"`.
        public var credentials: Credentials?
        /// How the server speaks TLS; `nil`, the default, means that it does not.
        public var tls: TLS?
        /// Variables set for the server in addition to this process's environment.
        package var environment: [String: String] = [:]
        /// How long starting may take until the server answers; 10 s by default.
        package var startDeadline: Duration = .seconds(10)
        /// How long the server may take to end in good order before it is killed; 2 s by default.
        package var stopGrace: Duration = .seconds(2)

        var role = Role.standalone

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - directives: Lines for the configuration file.
        ///   - credentials: The name and password with which the kit itself talks to the server.
        ///   - tls: How the server speaks TLS.
        public init(directives: [Directive] = [], credentials: Credentials? = nil, tls: TLS? = nil) {
            self.directives = directives
            self.credentials = credentials
            self.tls = tls
        }
    }

    /// One line of the server's configuration file.
    ///
    /// A string literal is the line as it is: `"maxmemory 1mb"`. The initializer quotes each value, so that it may hold
    /// spaces, quotes or control characters.
    public struct Directive: Sendable, Hashable, ExpressibleByStringLiteral {
        let line: String

        /// Takes a line as it is.
        ///
        /// - Parameter line: The line.
        public init(stringLiteral line: String) {
            self.line = line
        }

        /// Builds a line from a name and values of any content.
        ///
        /// - Parameters:
        ///   - name: The name of the setting.
        ///   - values: Its values, quoted as the server expects.
        public init(_ name: String, _ values: String...) {
            line = ([name] + values.map(Self.quoted)).joined(separator: " ")
        }

        private static func quoted(_ value: String) -> String {
            var text = "\""
            for byte in value.utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                    text += "\\" + String(UnicodeScalar(byte))
                case 0x20..<0x7f:
                    text += String(UnicodeScalar(byte))
                default:
                    let digits = String(byte, radix: 16)
                    text += "\\x" + (digits.count == 1 ? "0" : "") + digits
                }
            }
            return text + "\""
        }
    }

    /// A user name and a password.
    ///
    /// The description shows neither.
    public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The user; `nil` for the default user.
        public var username: String?
        /// The password.
        public var password: String

        /// Creates credentials.
        ///
        /// - Parameters:
        ///   - username: The user; `nil` for the default user.
        ///   - password: The password.
        public init(username: String? = nil, password: String) {
            self.username = username
            self.password = password
        }

        /// A placeholder.
        public var description: String { "<credentials>" }

        /// A mirror without children.
        public var customMirror: Mirror { Mirror(self, children: [:]) }
    }

    enum Role: Sendable, Hashable {
        case standalone
        case sentinel
        case clusterNode
    }
}
