// The first program of docs/getting-started.md; `.ci/snippets` compares the two.

// snippet.start-memory
import Strata

struct Product: Codable, Sendable {
    var name: String
    var cents: Int
}

/// Stands for your database, which is slow.
func load(_ id: Int) async throws -> Product? {
    print("the database is asked for \(id)")
    try await Task.sleep(for: .milliseconds(500))
    return Product(name: "kettle", cents: 1_950)
}

@main
struct Shop {
    static func main() async throws {
        let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
            .compose(Source { id in try await load(id) })

        let clock = ContinuousClock()
        for _ in 1...2 {
            let start = clock.now
            let product = try await products.require(42)
            print(product.name, "after", clock.now - start)
        }

        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 1...100 {
                tasks.addTask { _ = try await products.get(7) }
            }
            try await tasks.waitForAll()
        }
        print("100 tasks have read product 7")
    }
}
// snippet.end
