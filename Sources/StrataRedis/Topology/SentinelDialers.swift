internal import Strata

/// A dialer for each Sentinel, made when it is first needed, so that a name whose look-up hangs is looked up once.
///
/// Lives on the I/O thread.
final class SentinelDialers {
    private let configuration: RedisConfiguration
    private let sentinels: SentinelOptions
    private let wakeup: Wakeup
    private var dialers: [Int: Dialer] = [:]

    init(_ configuration: RedisConfiguration, _ sentinels: SentinelOptions, wakeup: Wakeup) {
        self.configuration = configuration
        self.sentinels = sentinels
        self.wakeup = wakeup
    }

    subscript(sentinel: Int) -> Dialer {
        if let dialer = dialers[sentinel] { return dialer }
        var configuration = configuration
        configuration.endpoint = sentinels.endpoints[sentinel]
        configuration.connectTimeout = sentinels.timeout
        let dialer = Dialer(configuration, wakeup: wakeup)
        dialers[sentinel] = dialer
        return dialer
    }
}
