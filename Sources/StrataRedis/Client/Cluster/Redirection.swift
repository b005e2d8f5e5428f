/// What a node of a cluster answers that does not serve a command itself.
enum Redirection: Equatable {
    /// Another node has the slot.
    case moved(slot: UInt16, to: RedisEndpoint)
    /// The slot is on its way to another node, and the key may be there already.
    case ask(slot: UInt16, to: RedisEndpoint)
    /// Another node has the slot, or is to get it, whose host the one that sends there does not know.
    case unnamed(slot: UInt16, port: UInt16, asking: Bool)
    /// Some of the keys are on their way; soon all will be in one place.
    case tryAgain
    /// The cluster, or the slot, is not served at the moment.
    case down
    /// The node has become a replica.
    case demoted

    /// Reads an error reply; `nil` for any other.
    ///
    /// - Parameters:
    ///   - text: The reply.
    ///   - endpoint: The node that has sent it: where it names no host, its own is meant.
    init?(_ text: String, from endpoint: RedisEndpoint) {
        let words = text.split(separator: " ")
        switch words.first {
        case "TRYAGAIN": self = .tryAgain
        case "CLUSTERDOWN": self = .down
        case "READONLY": self = .demoted
        case "MOVED", "ASK":
            guard words.count >= 3, let slot = UInt16(words[1]), Int(slot) < HashSlot.count else { return nil }
            // Where names are preferred, a node without one is not the sender, as it is with an empty host.
            if words[2].hasPrefix("?:"), let port = UInt16(words[2].dropFirst(2)), port > 0 {
                self = .unnamed(slot: slot, port: port, asking: words[0] == "ASK")
                return
            }
            guard let target = Self.endpoint(words[2], from: endpoint) else { return nil }
            self = words[0] == "ASK" ? .ask(slot: slot, to: target) : .moved(slot: slot, to: target)
        default: return nil
        }
    }

    private static func endpoint(_ text: Substring, from source: RedisEndpoint) -> RedisEndpoint? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        return .node(host: String(text[..<colon]), port: Int64(port), toldBy: source)
    }
}

extension RedisEndpoint {
    func isAt(port: UInt16) -> Bool { if case .tcp(_, port) = address { true } else { false } }

    /// A node's address as another node has told it; `nil` when it cannot be one.
    ///
    /// - Parameters:
    ///   - host: Empty, or `?`, where the one who tells does not know better than that it is its own.
    ///   - port: The port.
    ///   - source: The node that sent it.
    /// - Returns: The address.
    static func node(host: String?, port: Int64?, toldBy source: RedisEndpoint) -> RedisEndpoint? {
        guard let port, (1...65_535).contains(port) else { return nil }
        let isKnown = host.map { !$0.isEmpty && $0 != "?" } ?? false
        if isKnown, var host {
            // Some put an address of IPv6 in brackets, as URLs have it.
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            guard !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
                return nil
            }
            return .tcp(host: host, port: UInt16(port))
        }
        guard case .tcp(let own, _) = source.address else { return nil }
        return .tcp(host: own, port: UInt16(port))
    }
}

extension RESPValue {
    /// Whether it answers its command: it is no error, and was not cut.
    @inline(__always)
    var isAnswer: Bool {
        switch self {
        case .error, .oversized: false
        default: true
        }
    }
}
