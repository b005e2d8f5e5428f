#if HTTP
internal import Strata

/// Limits of what runs at a time, one a host; an unused host is forgotten.
final class HostLimits: Sendable {
    private struct Host: Sendable {
        var limiter: FetchLimiter
        var users = 0
    }

    private let limit: Int
    private let hosts = Locked<[String: Host]>([:])

    init(limit: Int) {
        self.limit = limit
    }

    func run<Result>(_ name: String, _ body: () async throws -> Result) async throws -> Result {
        let limiter = hosts.withLock { hosts in
            var host = hosts[name] ?? Host(limiter: FetchLimiter(limit: limit))
            host.users += 1
            hosts[name] = host
            return host.limiter
        }
        defer {
            hosts.withLock { hosts in
                hosts[name]?.users -= 1
                if hosts[name]?.users == 0 { hosts[name] = nil }
            }
        }
        return try await limiter.run(body)
    }
}
#endif
