#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Where user and password come from when they may change while the client runs.
///
/// ```swift
/// configuration.credentials = .file("/run/secrets/redis-password", username: "cache")
/// configuration.credentials = .environment(password: "REDIS_PASSWORD")
/// configuration.credentials = CredentialSource(every: .seconds(300)) {
///     RedisCredentials(username: "cache", password: Secret(try await vault.password()))
/// }
/// ```
///
/// The client asks it when it connects, at intervals while it is in use, and in ``RedisClient/refreshCredentials()``.
/// When the answer has changed, open connections log in again between two commands, and a link of the new user replaces
/// the invalidation link without a gap: no call fails because of that. While a source fails, its last answer stays in
/// force.
///
/// So to change a password: let the server accept both (`ACL SETUSER cache >NEW`), change it here, then take the old
/// one away (`ACL SETUSER cache <OLD`).
public struct CredentialSource: Sendable, CustomStringConvertible, CustomReflectable {
    /// The longest password file.
    static let longestFile = 4096

    let keeper: CredentialKeeper
    /// How often it is asked.
    let interval: Duration
    /// Whether each connection waits for an answer of its own: where that takes no time.
    let isQuick: Bool

    /// A source of your own.
    ///
    /// - Parameters:
    ///   - interval: How often it is asked while the client is in use; a minute by default.
    ///   - ask: Returns the credentials. Only the first connection waits for it, for
    ///     ``RedisConfiguration/connectTimeout`` at most; later ones use the last answer. One call is under way at a
    ///     time, and is cancelled after 30 s.
    public init(
        every interval: Duration = .seconds(60),
        _ ask: @escaping @Sendable () async throws -> RedisCredentials
    ) {
        self.init(every: interval, isQuick: false, ask)
    }

    private init(
        every interval: Duration,
        isQuick: Bool,
        _ ask: @escaping @Sendable () async throws -> RedisCredentials
    ) {
        self.interval = interval
        self.isQuick = isQuick
        keeper = CredentialKeeper(ask)
    }

    /// Variables of the environment, read for each connection.
    ///
    /// - Parameters:
    ///   - password: The name of the variable that holds the password.
    ///   - username: The name of the variable that holds the user; `nil` means the server's default user.
    /// - Returns: The source. It fails with ``RedisError/Code/authentication`` when a variable is not set, or empty.
    public static func environment(password: String, username: String? = nil) -> CredentialSource {
        CredentialSource(every: .seconds(10), isQuick: true) {
            RedisCredentials(username: try username.map(variable), password: Secret(try variable(password)))
        }
    }

    /// A file whose only line is the password, read for each connection and every ten seconds.
    ///
    /// It has to be a regular file of 4 KiB at most that belongs to the process's user (or to root), and that no other
    /// user may read or write (mode 0600 or 0400).
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - username: The user; `nil` means the server's default user.
    /// - Returns: The source. It fails with ``RedisError/Code/invalidConfiguration`` for a file that others may use,
    ///   and for one that cannot be read.
    public static func file(_ path: String, username: String? = nil) -> CredentialSource {
        CredentialSource(every: .seconds(10), isQuick: true) {
            RedisCredentials(username: username, password: Secret(try SecretFile.read(path)))
        }
    }

    private static func variable(_ name: String) throws(RedisError) -> String {
        guard let value = getenv(name), value.pointee != 0 else {
            throw RedisError(
                code: .authentication,
                message: "the variable \(PrintableText.escape(Array(name.utf8))) is not set, or empty"
            )
        }
        return String(cString: value)
    }

    /// A fixed text.
    public var description: String { "<credentials>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
