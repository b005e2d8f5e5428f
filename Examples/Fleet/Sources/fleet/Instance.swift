import ArgumentParser
import Foundation
import Logging
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// One instance of the service.
///
/// It takes orders from its standard input and answers on its standard output.
struct Instance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "One instance of the fleet; started by the demonstration.",
        shouldDisplay: false
    )

    @Option var folder: String
    @Option var keyspace: String
    @Option var memoryMilliseconds: Int

    func run() async throws {
        guard let url = ProcessInfo.processInfo.environment["STRATA_REDIS_URL"] else {
            throw ValidationError("STRATA_REDIS_URL names no server")
        }
        let service = try DocumentService(
            url: url,
            keyspace: keyspace,
            folder: folder,
            memoryLifetime: .milliseconds(memoryMilliseconds),
            // Lines of the log go to the standard error output; the standard output has the answers.
            logger: Logger(label: "fleet")
        )
        try say(.ready)
        // A thread of its own waits for orders: reading a line blocks.
        let (orders, feed) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            while let line = readLine() { feed.yield(line) }
            feed.finish()
        }
        for await line in orders {
            do {
                try await carryOut(Line.decode(line), service)
            } catch {
                try say(.failed("\(error)"))
            }
        }
        await service.end()
    }

    private func carryOut(_ order: Order, _ service: DocumentService) async throws {
        switch order {
        case .ask(let path): try say(.document(try await service.documents.get(path)))
        case .remove(let path):
            try await service.documents.remove(path)
            try say(.removed)
        case .run(let tasks, let requests, let rate, let seed):
            let load = try await Load(service: service, seed: seed)
            try await load.run(tasks: tasks, requests: requests, rate: rate) { try? say(.progress($0)) }
            try say(.report(load.report))
        }
    }

    private func say(_ answer: Answer) throws {
        Output.line(try Line.encode(answer))
    }
}
