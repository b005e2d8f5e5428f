import ArgumentParser
import Foundation
import StrataTesting

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
        try Catalogue.create(path: folder + "/shop.sqlite", products: products, categories: Scenes.categories)
        // A Redis that keeps what it has when it is killed.
        let server = try await RedisServer.start(.init(directives: ["appendonly yes"]))
        let fleet = try await ShopFleet(count: instances, redis: server.url, database: folder + "/shop.sqlite")
        Output.line("\(instances) instances, \(products) products in SQLite (20 ms a query), Redis at \(server.url)\n")
        var scenes = Scenes(fleet: fleet, server: server, products: products, rate: rate, seconds: seconds)
        do {
            try await scenes.play()
        } catch {
            scenes.broken.append("the show has ended early: \(error)")
        }
        await fleet.stop()
        try await server.stop()
        for promise in scenes.broken { Output.line("BROKEN: \(promise)") }
        guard scenes.broken.isEmpty else { throw ExitCode(1) }
        Output.line("All of it held.")
    }
}
