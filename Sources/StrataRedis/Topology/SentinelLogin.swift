internal import Strata

/// With what one logs in at a Sentinel: to ask it, and to listen to it.
///
/// Sentinels have credentials of their own, and the servers' are not sent to them. Only where it was not said what
/// listens at an address (``RedisTopology/auto``) are the servers' credentials tried. They may be meant for another
/// kind of server, so a refusal of them is no failure.
struct SentinelLogin: Sendable, Equatable {
    let credentials: RedisCredentials
    /// Whether a refusal is a failure.
    let isRequired: Bool

    /// `nil`, where there is nothing to log in with.
    init?(_ configuration: RedisConfiguration, _ options: SentinelOptions) {
        isRequired = configuration.topology != .auto
        if let password = options.password {
            credentials = RedisCredentials(username: options.username, password: password)
        } else if isRequired {
            return nil
        } else if let current = configuration.credentials?.keeper.current {
            credentials = current
        } else if let password = configuration.password {
            credentials = RedisCredentials(username: configuration.username, password: password)
        } else {
            return nil
        }
    }
}
