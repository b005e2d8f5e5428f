import StrataTesting

extension RedisServer {
    /// How often the server has run some commands since the last CONFIG RESETSTAT; with the field `failed_calls`, how
    /// many of them have failed.
    func calls(of commands: String..., field: String = "calls") async throws -> Int {
        let text = try await command("INFO", "commandstats").text
        return text.split(whereSeparator: \.isNewline)
            .reduce(0) { sum, line in
                guard let start = commands.map({ "cmdstat_\($0):" }).first(where: { line.hasPrefix($0) }) else {
                    return sum
                }
                let counts = line.dropFirst(start.count).split(separator: ",")
                let count = counts.first { $0.hasPrefix("\(field)=") }?.dropFirst(field.count + 1)
                return sum + (count.flatMap { Int($0) } ?? 0)
            }
    }
}
