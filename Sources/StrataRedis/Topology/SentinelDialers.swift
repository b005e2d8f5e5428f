internal import Strata

/// A dialer for each Sentinel, made when it is first needed, so that a name whose look-up hangs is looked up once.
///
/// Lives on the I/O thread.
final class SentinelDialers {
    private let configuration: RedisConfiguration
    private let sentinels: SentinelOptions
    private let thread: LoopThread
    private var dialers: [Int: Dialer] = [:]

    init(_ configuration: RedisConfiguration, _ sentinels: SentinelOptions, thread: LoopThread) {
        self.configuration = configuration
        self.sentinels = sentinels
        self.thread = thread
    }

    subscript(sentinel: Int) -> Dialer {
        if let dialer = dialers[sentinel] { return dialer }
        var configuration = configuration
        configuration.endpoint = sentinels.endpoints[sentinel]
        configuration.connectTimeout = sentinels.timeout
        // Those of the servers; under auto what is asked may be one.
        if configuration.topology != .auto { configuration.credentials = nil }
        let dialer = Dialer(configuration, wakeup: thread.wakeup, material: thread.material)
        dialers[sentinel] = dialer
        return dialer
    }
}
