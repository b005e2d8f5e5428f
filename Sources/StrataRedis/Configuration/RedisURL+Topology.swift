/// What a URL says of more than one server.
extension RedisURL {
    static func topology(
        _ parameters: inout RedisURLParameters,
        _ scheme: String
    ) throws(RedisError) -> RedisTopology {
        let meant: RedisTopology? =
            if scheme.hasSuffix("-sentinel") { .sentinel } else if scheme.hasSuffix("-cluster") { .cluster } else {
                nil
            }
        guard let text = parameters.take("topology") else { return meant ?? .single }
        guard let topology = RedisTopology(rawValue: String(decoding: text, as: UTF8.self)) else {
            throw invalid("the topology of the URL is not one of single, sentinel, cluster, auto")
        }
        guard topology == meant ?? topology else {
            throw invalid("the scheme of the URL names one topology, the parameter topology another")
        }
        return topology
    }

    /// A time in whole milliseconds, of seven digits at most.
    static func milliseconds(_ name: String, _ parameters: inout RedisURLParameters) throws(RedisError) -> Duration? {
        guard let text = parameters.take(name) else { return nil }
        guard text.count <= 7, let number = ServerNumber.decimal(text, in: 0...9_999_999) else {
            throw invalid("\(name) in the URL is not a number of milliseconds")
        }
        return .milliseconds(number)
    }

    /// One address, or several between commas.
    static func endpoints(_ authority: Bytes, port: UInt16) throws(RedisError) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint] = []
        for part in authority.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard endpoints.count < SentinelOptions.mostEndpoints else {
                throw invalid("the URL names more than \(SentinelOptions.mostEndpoints) hosts")
            }
            endpoints.append(try tcpEndpoint(part, port: port))
        }
        return endpoints
    }

    static func sentinels(
        _ endpoints: [RedisEndpoint],
        _ topology: RedisTopology,
        _ parameters: inout RedisURLParameters
    ) throws(RedisError) -> SentinelOptions? {
        guard topology == .sentinel || topology == .auto else {
            guard endpoints.count == 1 || topology == .cluster else {
                throw invalid("the URL names several hosts, but no topology that allows several")
            }
            return nil
        }
        func text(_ name: String) throws(RedisError) -> String? {
            guard let bytes = parameters.take(name) else { return nil }
            return try decode(bytes, part: "parameter \(name)")
        }
        var options = SentinelOptions(endpoints: endpoints, primary: try text("master") ?? "")
        guard topology == .auto || !options.primary.isEmpty else {
            throw invalid("the URL of Sentinels lacks the parameter master, the name of the primary")
        }
        options.username = try text("sentinelUser")
        options.password = try text("sentinelPassword").map { Secret($0) }
        return options
    }
}
