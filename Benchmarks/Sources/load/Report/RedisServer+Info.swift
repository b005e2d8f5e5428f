import ArgumentParser
import StrataTesting

/// What a server tells of itself.
extension RedisServer {
    /// Bytes of memory.
    func usedMemory() async throws -> Int { Int(try await info("memory", "used_memory")) }

    /// The processor time of its whole process.
    func processorSeconds() async throws -> Double {
        try await info("cpu", "used_cpu_user") + info("cpu", "used_cpu_sys")
    }

    /// How many connections it has accepted, that of this question among them.
    func connectionsReceived() async throws -> Int { Int(try await info("stats", "total_connections_received")) }

    /// How often commands were called since it started.
    func calls(of names: String...) async throws -> Int {
        var sum = 0
        for line in try await lines("commandstats") {
            guard let name = names.first(where: { line.hasPrefix("cmdstat_\($0):calls=") }) else { continue }
            sum += Int(line.dropFirst("cmdstat_\(name):calls=".count).prefix { $0 != "," }) ?? 0
        }
        return sum
    }

    private func info(_ section: String, _ name: String) async throws -> Double {
        guard let line = try await lines(section).first(where: { $0.hasPrefix(name + ":") }),
            let value = Double(line.dropFirst(name.count + 1))
        else { throw ValidationError("the server does not tell \(name)") }
        return value
    }

    private func lines(_ section: String) async throws -> [Substring] {
        try await command("INFO", section).text.split(separator: "\r\n")
    }
}
