import Foundation
import Strata
import Testing

/// What users write without types: it has to compile, in a moment, and mean what it says.
@Suite("Closures without types")
struct UntypedClosureTests {
    private struct Product: Codable, Equatable {
        var name: String
    }

    @Test("closures in place of transformers")
    func closures() async throws {
        let numbers = MemoryLevel<String, Int>(limit: .entries(10))
        try await numbers.set(3, for: "k")
        let texts = numbers.transformValues {
            "\($0)"
        } inverse: {
            Int($0) ?? 0
        }
        #expect(try await texts.get("k") == "3")
        try await texts.set("4", for: "k")
        #expect(try await numbers.get("k") == 4)
        let fetched = ClosureFetcher<String, Int> { key in key.count }.transformValues { $0 * 2 }
        #expect(try await fetched.get("abc") == 6)
        let byNumber = numbers.transformKeys(
            TwoWayTransformer<Int, String> {
                "\($0)"
            } inverse: {
                Int($0) ?? 0
            }
        )
        try await byNumber.set(1, for: 7)
        #expect(try await numbers.get("7") == 1)
        let sum = numbers.postProcessEntries { key, value in key.count + value }.postProcess { $0 + 1 }
        #expect(try await sum.get("k") == 6)
    }

    @Test("bytes as values, by a codec that is only named")
    func codecs() async throws {
        let bytes = MemoryLevel<String, [UInt8]>(limit: .entries(10))
        let products = bytes.transformValues(.json, as: Product.self)
        try await products.set(Product(name: "pen"), for: "k")
        #expect(try await products.get("k") == Product(name: "pen"))
        #expect(try await bytes.get("k") == Array(#"{"name":"pen"}"#.utf8))
        let annotated: TransformedValues<MemoryLevel<String, [UInt8]>, Product> = bytes.transformValues(.json)
        #expect(try await annotated.get("k") == Product(name: "pen"))
        #expect(try Codec<Data>.data.decode(Codec<[UInt8]>.bytes.encode([1, 2])) == Data([1, 2]))
    }

    @Test("Foundation's bytes as values")
    func data() async throws {
        let data = MemoryLevel<String, Data>(limit: .entries(10))
        let products = data.transformValues(.json, as: Product.self)
        try await products.set(Product(name: "pen"), for: "k")
        #expect(try await products.get("k") == Product(name: "pen"))
        #expect(try await data.get("k") == Data(#"{"name":"pen"}"#.utf8))
        let annotated: TransformedValues<MemoryLevel<String, Data>, Product> = data.transformValues(.cbor)
        try await annotated.set(Product(name: "ink"), for: "k")
        #expect(try await annotated.get("k") == Product(name: "ink"))
    }

    @Test("a switch between levels that are built in place")
    func switched() async throws {
        let level = switchLevels(
            MemoryLevel<String, Int>(limit: .entries(1)).postProcess { $0 + 1 },
            MemoryLevel<String, Int>(limit: .entries(1)).postProcess { $0 - 1 }
        ) { $0.count > 3 ? .first : .second }
        try await level.set(5, for: "long key")
        try await level.set(5, for: "key")
        #expect(try await level.get("long key") == 6)
        #expect(try await level.get("key") == 4)
    }

    @Test("keys of Foundation", arguments: [("https://a/b?c", "https://a/b?c")])
    func keys(text: String, bytes: String) throws {
        #expect(try #require(URL(string: text)).keyBytes == Array(bytes.utf8))
        #expect(Data([0, 255]).keyBytes == [0, 255])
    }

    @Test("a cache prints what it has counted")
    func printed() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        try await level.set(1, for: "k")
        _ = try await (level.get("k"), level.get("l"))
        #expect("\(level)" == "memory, at most 10 entries (hits 1, misses 1, entries 1, evictions 0)")
    }
}
