// The second program of docs/getting-started.md; `.ci/snippets` compares the two.

// snippet.start-program
import Foundation
import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var name: String
    var cents: Int
}

/// One line of output; it begins with the number of the process.
func say(_ text: String) {
    print("[\(ProcessInfo.processInfo.processIdentifier)] \(text)")
}

/// Stands for your database, which is slow.
func load(_ id: Int) async throws -> Product? {
    say("the database is asked for \(id)")
    try await Task.sleep(for: .milliseconds(500))
    return Product(name: "kettle", cents: 1_950)
}

@main
struct Shop {
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment
        let redis = try RedisClient(environment["STRATA_REDIS_URL"] ?? "redis://localhost:6379")

        let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
            .compose(
                RedisLevel(redis, keyspace: "products")
                    .fetching { id in try await load(id) }
            )

        /// Reads product 42 and says which level had it.
        func show() async throws {
            let (product, trace) = try await products.getWithTrace(42)
            guard let product else { return say("there is no product 42") }
            say("\(product.name), \(product.cents) cents, from \(trace.origin?.description ?? "nowhere")")
        }

        switch CommandLine.arguments.dropFirst().first {
        case "watch":
            for _ in 1...15 {
                try await show()
                try await Task.sleep(for: .seconds(1))
            }
        case "set":
            let cents = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 2_450
            try await products.set(Product(name: "kettle", cents: cents), for: 42)
            say("the price is now \(cents) cents")
        case "clear":
            try await products.clear()
            say("the cache is empty")
        default:
            try await show()
            try await show()
        }

        await products.drain(within: .seconds(1))
        await redis.shutDown(within: .seconds(1))
    }
}
// snippet.end
