internal import Strata

/// Listening to a Sentinel, without its socket: it tells when it has seen a failover.
///
/// A message is a hint: the primary is searched for anew. So nothing depends on a message that gets lost, and a user
/// who may publish at a Sentinel can cause some searches and hold up calls for a tenth of the time, but no more.
struct SentinelListening: Sendable {
    /// How often the Sentinel is pinged, and how long it may take for the answer.
    static let pingInterval: Duration = .seconds(2)
    static let pingTimeout: Duration = .seconds(1)
    /// The second comes first: when the new primary is promoted, and not when all replicas follow it.
    static let channels = ["+switch-master", "+promoted-slave"]

    enum Heard: Equatable {
        case nothing
        /// From now on failovers are told; one may have been missed before.
        case began
        /// The new primary, where it is named.
        case failover(to: RedisEndpoint?)
        case failed(String)
    }

    private let name: String
    private var repliesOwed: Int
    private let login: SentinelLogin?
    private var subscriptions = 0
    private var lastPing: MonotonicInstant
    private var awaitsPong = false

    init(_ configuration: RedisConfiguration, _ options: SentinelOptions, now: MonotonicInstant) {
        name = options.primary
        login = SentinelLogin(configuration, options)
        repliesOwed = Self.channels.count + (login == nil ? 0 : 1)
        lastPing = now
    }

    func begin(_ writer: inout CommandWriter) {
        login?.credentials.encodeLogin(into: &writer)
        // One by one: an ACL may permit the first and not the second.
        for channel in Self.channels {
            writer.begin(2)
            writer.argument("SUBSCRIBE" as StaticString)
            writer.argument(channel)
        }
    }

    /// Whether it is time for a PING, or too late for the answer to one.
    mutating func advance(now: MonotonicInstant, _ writer: inout CommandWriter) -> Heard {
        guard now >= nextDeadline else { return .nothing }
        guard !awaitsPong, repliesOwed == 0 else { return .failed("it does not answer") }
        lastPing = now
        awaitsPong = true
        writer.begin(1)
        writer.argument("PING" as StaticString)
        return .nothing
    }

    var nextDeadline: MonotonicInstant {
        lastPing.advanced(by: awaitsPong || repliesOwed > 0 ? Self.pingTimeout : Self.pingInterval)
    }

    mutating func received(_ reply: RESPValue) -> Heard {
        if repliesOwed > 0 { return subscribed(reply) }
        guard case .array(let parts) = reply else { return .failed("it does not answer as a Sentinel does") }
        switch parts.first?.string {
        case "pong":
            awaitsPong = false
            return .nothing
        case "message" where parts.count == 3:
            let message = parts[2].string ?? ""
            return concerns(message) ? .failover(to: Self.promoted(by: message)) : .nothing
        default: return .failed("it does not answer as a Sentinel does")
        }
    }

    private mutating func subscribed(_ reply: RESPValue) -> Heard {
        // A message may come between the two subscriptions.
        if case .array(let parts) = reply, parts.first?.string == "message" { return .failover(to: nil) }
        defer { repliesOwed -= 1 }
        let isLogin = repliesOwed > Self.channels.count
        switch reply {
        case .error(let text):
            let code = RedisError.printableCode(of: text)
            if isLogin { return login?.isRequired == true ? .failed("it refuses AUTH: \(code)") : .nothing }
            if repliesOwed == 1, subscriptions == 0 { return .failed("it refuses SUBSCRIBE: \(code)") }
        case .array: subscriptions += 1
        case .status where isLogin: break
        default: return .failed("it does not answer as a Sentinel does")
        }
        return repliesOwed == 1 ? .began : .nothing
    }

    /// Whether a message is about the primary: `NAME old-host old-port new-host new-port`, or
    /// `slave … @ NAME host port`.
    private func concerns(_ message: String) -> Bool {
        name.isEmpty || message.hasPrefix(name + " ") || message.contains("@ \(name) ")
    }

    /// The new primary: see above, and `slave host:port host port @ NAME …` of a replica that was promoted.
    private static func promoted(by message: String) -> RedisEndpoint? {
        let words = message.split(separator: " ")
        let place = words.count > 4 && words[4] == "@" ? words[2...3] : words.count == 5 ? words[3...4] : []
        guard let host = place.first, let port = place.last.flatMap({ UInt16($0) }) else { return nil }
        return .tcp(host: String(host), port: port)
    }
}
