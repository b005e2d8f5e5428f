#if Configuration
internal import StrataRedis

/// Which server a client goes to, who logs in there, and how connections are encrypted, as a configuration says it.
struct ServerSettings: Sendable {
    var url: String?
    var endpoints: [String]?
    var topology: RedisTopology?
    var username: String?
    var password: String?
    var credentials = Credentials()
    var tls = TLSOptions()
    /// Whether connections are encrypted, where the configuration says so itself.
    var isEncrypted: Bool?
    var sentinels = Sentinels()

    /// Where user and password come from when they may change.
    struct Credentials: Sendable {
        var file: String?
        var username: String?
        var passwordVariable: String?
        var usernameVariable: String?
    }

    struct Sentinels: Sendable {
        var endpoints: [String]?
        var primary: String?
        var username: String?
        var password: String?
        var timeout: Duration?
    }

    /// The keys that name the server; one of them is needed.
    static let places = ["url", "endpoints", "sentinels.endpoints"]

    static let settings: [Setting<ServerSettings>] =
        [
            secret("url", \.url),
            list("endpoints", \.endpoints),
            topologySetting,
            .text("username", optional: \.username),
            secret("password", \.password),
            .text("credentials.file", optional: \.credentials.file),
            .text("credentials.username", optional: \.credentials.username),
            .text("credentials.passwordVariable", optional: \.credentials.passwordVariable),
            .text("credentials.usernameVariable", optional: \.credentials.usernameVariable),
            Setting("tls.enabled", \.isEncrypted, .flag, text: { _ in nil }) { reader, key throws(ConfigurationError) in
                try reader.flag(key).map { .some($0) }
            },
        ]
        + TLSOptions.settings.map { $0.within("tls", \.tls) }
        + [
            list("sentinels.endpoints", \.sentinels.endpoints),
            .text("sentinels.primary", optional: \.sentinels.primary),
            .text("sentinels.username", optional: \.sentinels.username),
            secret("sentinels.password", \.sentinels.password),
            Setting("sentinels.timeout", \.sentinels.timeout, .duration, text: { _ in nil }) {
                reader,
                key throws(ConfigurationError) in
                guard let duration = try reader.duration(key) else { return nil }
                try Setting<ServerSettings>.Least.aboveZero.check(duration, reader, key)
                return .some(duration)
            },
        ]

    private static let topologySetting = Setting<ServerSettings>(
        "topology",
        \.topology,
        .choice(RedisTopology.allCases.map(\.rawValue)),
        text: { $0?.rawValue }
    ) { reader, key throws(ConfigurationError) in
        try reader.choice(key, of: RedisTopology.allCases.map(\.rawValue)).map { RedisTopology(rawValue: $0) }
    }

    private static func list(
        _ key: String,
        _ path: Setting<ServerSettings>.Path<[String]?>
    ) -> Setting<ServerSettings> {
        Setting(key, path, .list, text: { _ in nil }) { reader, key throws(ConfigurationError) in
            try reader.list(key).map { .some($0) }
        }
    }

    private static func secret(
        _ key: String,
        _ path: Setting<ServerSettings>.Path<String?>
    ) -> Setting<ServerSettings> {
        var setting = Setting(key, path, .text, text: { _ in nil }) { reader, key throws(ConfigurationError) in
            try reader.text(key, isSecret: true).map { .some($0) }
        }
        setting.isSecret = true
        return setting
    }
}

extension TLSOptions {
    static let settings: [Setting<TLSOptions>] = [
        .text("authorities", optional: \.authorities),
        .text("certificate", optional: \.certificate),
        .text("key", optional: \.key),
        .text("serverName", optional: \.serverName),
        .flag("requiresTLS13", \.requiresTLS13),
        .flag("dangerouslyAcceptsAnyCertificate", \.dangerouslyAcceptsAnyCertificate),
    ]
}
#endif
