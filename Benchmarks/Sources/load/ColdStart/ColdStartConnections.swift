import StrataTesting

/// Counts the connections that a server gets.
struct ColdStartConnections {
    struct Counts {
        var sum = 0
        var mostInASecond = 0
        var processor = 0.0
    }

    private let server: RedisServer

    init(_ server: RedisServer) { self.server = server }

    /// Looks ten times a second; the questions' own connections do not count.
    func count(for time: Duration) async throws -> Counts {
        let end = ContinuousClock.now.advanced(by: time)
        let processor = try await server.processorSeconds()
        var looks = [try await server.connectionsReceived()]
        while ContinuousClock.now < end {
            try await Task.rest(for: .milliseconds(100))
            looks.append(try await server.connectionsReceived() - looks.count)
        }
        return Counts(
            sum: (looks.last ?? 0) - looks[0],
            mostInASecond: looks.indices.map { looks[min($0 + 10, looks.count - 1)] - looks[$0] }.max() ?? 0,
            processor: try await server.processorSeconds() - processor
        )
    }
}
