import StrataRedis
import StrataTesting

/// What encryption costs: the same calls over TLS and in plain text, in turns, to the same server.
struct TLSCost {
    let rounds: Int
    let seconds: Double

    func measure() async throws {
        let authority = try await TestAuthority.make()
        let tls = RedisServer.TLS(try await authority.issue(), authorities: authority.certificate)
        try await RedisServer.withServer(.init(tls: tls)) { server in
            let plain = try client(server.url)
            let secure = try client("\(server.tlsURL ?? "")?ca=\(authority.certificate)")
            try await Workload.prepare(plain)
            for workload in [Workload.get, .get16k] { try await measure(workload, plain, secure) }
            await plain.shutDown()
            await secure.shutDown()
        }
    }

    private func client(_ url: String) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.connections = 1
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(30)
        return try RedisClient(configuration)
    }

    private func measure(_ workload: Workload, _ plain: RedisClient, _ secure: RedisClient) async throws {
        let tasks = 64
        var rates: [(plain: WireRate, secure: WireRate)] = []
        // The first round makes the connections.
        for round in 0...rounds {
            let one = try await WireRate.measure(workload, plain, tasks: tasks, seconds: seconds)
            let other = try await WireRate.measure(workload, secure, tasks: tasks, seconds: seconds)
            if round > 0 { rates.append((one, other)) }
        }
        let name = "wire.tls.\(workload.rawValue).tasks\(tasks)"
        let comparedTo = "plain text, \(workload.rawValue), same run"
        func print(_ part: String, _ values: [Double], _ unit: String, comparedTo: String? = nil) {
            Measurement(name: "\(name).\(part)", value: values.median, unit: unit, comparedTo: comparedTo).print()
        }
        let ratios = rates.map { $0.secure.processorMicroseconds / $0.plain.processorMicroseconds }
        print("cpu.ratio", ratios, "1", comparedTo: comparedTo)
        print("cpu_us", rates.map(\.secure.processorMicroseconds), "µs")
        let speeds = rates.map { $0.secure.operationsPerSecond / $0.plain.operationsPerSecond }
        print("ops.ratio", speeds, "1", comparedTo: comparedTo)
        print("ops", rates.map(\.secure.operationsPerSecond), "1/s")
    }
}
