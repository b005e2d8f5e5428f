#if Disk
import GRDB
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("A small store with named domains", .timeLimit(.minutes(5)))
struct DomainTests {
    private let folder: DiskFolder
    private let store: DiskStore

    init() throws {
        folder = try DiskFolder()
        store = folder.store(DiskOptions(durability: .power, corruption: .fail, lockTimeout: .seconds(60)))
    }

    private func domain(_ name: String?) -> DiskLevel<String, Int> { store.domain(name) }

    @Test("A160 A161 a domain is a level like any other, and its values outlive the process")
    func level() async throws {
        let flags = domain("flags")
        #expect(try await flags.get("a") == nil)
        try await flags.set(1, for: "a")
        try await flags.set(2, for: "a")
        #expect(try await flags.get("a") == 2)
        #expect(try await flags.get("b") == nil)
        await store.close()
        let again: DiskLevel<String, Int> = folder.store().domain("flags")
        #expect(try await again.get("a") == 2)
    }

    @Test("levels whose namespaces are called as domains are do not touch these")
    func names() async throws {
        let names = ["domain", "domain:flags", "namespace:domain", "namespace:domain:flags", "domain:"]
        try await domain(nil).set(1, for: "k")
        try await domain("flags").set(2, for: "k")
        try await domain("").set(3, for: "k")
        let levels = names.map { DiskLevel<String, Int>(store, namespace: $0) }
        for (number, level) in levels.enumerated() {
            #expect(level.namespace == names[number])
            #expect(try await level.get("k") == nil)
            try await level.set(10 + number, for: "k")
        }
        for (number, level) in levels.enumerated() {
            #expect(try await level.get("k") == 10 + number)
            try await level.clear()
        }
        for (number, name) in [nil, "flags", ""].enumerated() {
            #expect(try await domain(name).get("k") == number + 1)
        }
    }

    @Test("A162 clearing one domain leaves other domains, the process-wide one and other levels alone")
    func clear() async throws {
        let others = [domain("b"), domain(nil), domain(""), domain("a:")]
        let level = DiskLevel<String, Int>(store, namespace: "a")
        for other in others { try await other.set(1, for: "k") }
        try await level.set(1, for: "k")
        try await domain("a").set(2, for: "k")
        try await domain("a").clear()
        #expect(try await domain("a").get("k") == nil)
        for other in others { #expect(try await other.get("k") == 1) }
        #expect(try await level.get("k") == 1)
    }

    @Test("A163 memory pressure drops the copy in memory only")
    func pressure() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let flags = memory.compose(domain("flags"))
        try await flags.set(1, for: "k")
        #expect(try await memory.get("k") == 1)
        flags.relieve(.critical)
        #expect(try await memory.get("k") == nil)
        #expect(try await flags.get("k") == 1)
    }

    @Test("A164 bytes that cannot be decoded are an error and stay; a value that cannot be encoded is one, too")
    func undecodable() async throws {
        let texts: DiskLevel<String, String> = store.domain("n")
        try await texts.set("text", for: "k")
        let numbers = domain("n")
        let error = await #expect(throws: CacheError.self) { try await numbers.get("k") }
        #expect(error?.code == .codec)
        #expect(try await texts.get("k") == "text")
        let doubles: DiskLevel<String, Double> = store.domain("d", codec: .json)
        let refused = await #expect(throws: CacheError.self) { try await doubles.set(.infinity, for: "k") }
        #expect(refused?.code == .codec)
        #expect(try await doubles.get("k") == nil)
    }

    @Test("A164 so are those of another codec or schema number, and no update replaces them")
    func otherForms() async throws {
        let texts: DiskLevel<String, String> = store.domain("n", codec: .text)
        try await texts.set("text", for: "k")
        let others: [DiskLevel<String, String>] = [
            store.domain("n", codec: .cbor), store.domain("n", codec: .text.schema(1)),
        ]
        for other in others {
            let error = await #expect(throws: CacheError.self) { try await other.get("k") }
            #expect(error?.code == .codec)
            await #expect(throws: CacheError.self) { try await other.update("k") { _ in "replaced" } }
            #expect(try await texts.get("k") == "text")
            // Nor does what a source answers, which stands in for it.
            let answering = other.compose(ClosureFetcher<String, String> { _ in "fetched" })
            #expect(try await answering.get("k") == "fetched")
            #expect(try await texts.get("k") == "text")
        }
    }

    @Test("A165 a removed key is gone from memory and storage, and nothing outside the domain is touched")
    func remove() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let flags = memory.compose(domain("flags"))
        try await flags.set(1, for: "k")
        try await domain(nil).set(2, for: "k")
        try await flags.remove("k")
        #expect(try await memory.get("k") == nil)
        #expect(try await domain("flags").get("k") == nil)
        #expect(try await domain(nil).get("k") == 2)
    }

    @Test("A166 instances of one domain that write different keys at the same time lose none")
    func instances() async throws {
        let other: DiskLevel<String, Int> = folder.store().domain("flags")
        let one = domain("flags")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask { try await (number.isMultiple(of: 2) ? one : other).set(number, for: "\(number)") }
            }
            try await group.waitForAll()
        }
        #expect(try await one.get((0..<60).map(String.init)) == Array(0..<60))
    }

    @Test("a full domain refuses, and evicts nothing")
    func full() async throws {
        let small: DiskLevel<String, String> = store.domain("s", codec: .text, limit: 2_500)
        try await small.set(String(repeating: "a", count: 1_000), for: "a")
        try await small.set(String(repeating: "b", count: 1_000), for: "b")
        #expect(await diskCode { try await small.set(String(repeating: "c", count: 1_000), for: "c") } == .noRoom)
        let error = await #expect(throws: CacheError.self) {
            try await small.set(String(repeating: "a", count: 3_000), for: "a")
        }
        #expect(error?.code == .tooLarge)
        #expect(try await small.get(["a", "b"]).map { $0?.first } == ["a", "b"])
        #expect(try await small.get("c") == nil)
    }
}
#endif
