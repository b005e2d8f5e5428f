import ArgumentParser
import AsyncHTTPClient
import Foundation
import StrataTesting
import UnixSignals

/// Three instances, one Redis and one database, and what happens to them.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Runs three instances under load, changes products, kills an instance and Redis, and checks what was promised.",
        discussion: "Exit status: 0 when all that it says held, 1 when something did not (it is named)."
    )

    @Option(help: "Products in the database.")
    var products = 400
    @Option(help: "Requests a second, to all instances together.")
    var rate = 200
    @Option(help: "How long each part of the load lasts, in seconds.")
    var seconds = 8
    @Option(help: "Instances.")
    var instances = 3

    func validate() throws {
        guard products >= 20, rate > 0, seconds >= 7, instances >= 2 else {
            throw ValidationError("at least 20 products, a rate of 1, 7 seconds and 2 instances")
        }
    }

    func run() async throws {
        let folder = NSTemporaryDirectory() + "shop-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        // Whichever comes first: the end, or the wish for it. The group waits until the show has ended its processes.
        let broken = try await withThrowingTaskGroup(of: [String]?.self) { group in
            group.addTask { try await play(in: folder) }
            group.addTask {
                for await _ in signals { break }
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            return first
        }
        guard let broken else {
            Output.line("Interrupted.")
            throw ExitCode(130)
        }
        for promise in broken { Output.line("BROKEN: \(promise)") }
        guard broken.isEmpty else { throw ExitCode(1) }
        Output.line("All of it held.")
    }

    /// The show itself.
    ///
    /// - Returns: What did not hold.
    private func play(in folder: String) async throws -> [String] {
        try Catalogue.create(path: folder + "/shop.sqlite", products: products)
        return try await HTTPClient.withHTTPClient(configuration: ShopFleet.callers) { client in
            // A Redis that keeps what it has when it is killed.
            try await RedisServer.withServer(.init(directives: ["appendonly yes"])) { server in
                try await play(client, server, folder)
            }
        }
    }

    private func play(_ client: HTTPClient, _ server: RedisServer, _ folder: String) async throws -> [String] {
        let fleet = try await ShopFleet(count: instances, redis: server.url, folder: folder, client)
        let dashboard = try await FleetDashboard(client, redis: server.url, folder: folder)
        let prometheus = try await Prometheus.start(client, scraping: fleet.instances, in: folder)
        Output.line(
            """
            \(instances) instances, \(products) products in SQLite (20 ms a query), Redis at \(server.url)
            Dashboard at \(dashboard.url), token \(dashboard.token)
            Prometheus \(prometheus.map { "at \($0.url)" } ?? "is not installed, so its part is left out")

            """
        )
        var scenes = Scenes(fleet, dashboard, prometheus, server, self)
        await scenes.play()
        await scenes.end()
        if !scenes.broken.isEmpty, !Task.isCancelled {
            for process in scenes.processes {
                for line in process.logTail() { Output.line(line) }
            }
        }
        return scenes.broken
    }
}
