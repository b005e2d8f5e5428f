import Foundation
import Strata
import StrataRedis
import Testing

private struct Item: Codable, Sendable {
    var id: Int
}

private struct Database: Sendable {
    func product(_ id: Int) async throws -> Item? { Item(id: id) }
}

@Suite("The README's example")
struct ReadmeExampleTests {
    /// The example, compiled.
    ///
    /// It is not run: it names a server that need not be there.
    private func example(_ database: Database) async throws {
        typealias Product = Item
        // example begins
        let redis = try RedisClient("redis://localhost:6379")  // usable at once; a Service, for a clean shutdown

        let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
            .compose(
                RedisLevel(redis, keyspace: "products")  // Codable by default: JSON
                    .fetching { id in try await database.product(id) }  // one fetch for the whole fleet
            )

        let product = try await products.get(42)  // memory, then Redis, then the database
        try await products.remove(42)  // gone from every instance's memory
        // example ends
        _ = product
    }

    @Test("what the README shows is what is compiled here")
    func same() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let source = try String(contentsOf: here, encoding: .utf8)
        let shown = try #require(text(in: readme, from: "```swift\n", to: "```"))
        let compiled = try #require(text(in: source, from: "// example begins\n", to: "// example ends"))
        #expect(lines(of: shown).filter { !$0.hasPrefix("import ") } == lines(of: compiled))
        #expect(!lines(of: compiled).isEmpty)
    }

    private func text(in whole: String, from start: String, to end: String) -> Substring? {
        guard let begin = whole.range(of: start)?.upperBound,
            let stop = whole.range(of: end, range: begin..<whole.endIndex)?.lowerBound
        else { return nil }
        return whole[begin..<stop]
    }

    /// The lines without empty ones, each with its words one space apart.
    private func lines(of text: Substring) -> [String] {
        text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
    }
}
