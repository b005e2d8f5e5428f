import StrataTesting
import Testing

@testable import Strata

@Suite("Tags in a memory level")
struct MemoryTagTests {
    private let memory = MemoryLevel<String, Int>(limit: .entries(100))

    @Test("an invalidation reaches the entries that bear the tag, and no other")
    func invalidate() async throws {
        try await memory.set(1, for: "a", tags: ["red", "round"])
        try await memory.set(2, for: "b", tags: ["green"])
        try await memory.set(3, for: "c")
        try await memory.invalidate(tag: "red")
        #expect(memory.resident("a", at: .coarse) == nil)
        #expect(try await memory.get("a") == nil)
        #expect(try await memory.get(["a", "b", "c"]) == [nil, 2, 3])
        #expect(memory.resident("b", at: .coarse)?.value == 2)
        #expect(memory.resident("c", at: .coarse)?.value == 3)
        try await memory.set(4, for: "a", tags: ["red"])
        #expect(try await memory.get("a") == 4)
    }

    @Test("two memory levels have nothing to do with each other")
    func neighbours() async throws {
        let other = MemoryLevel<String, Int>(limit: .entries(100))
        try await memory.set(1, for: "a", tags: ["red"])
        try await other.set(1, for: "a", tags: ["red"])
        try await memory.invalidate(tag: "red")
        #expect(try await memory.get("a") == nil)
        #expect(try await other.get("a") == 1)
    }

    @Test("any text is a tag; a thousand of them; equal texts are one")
    func anyText() async throws {
        let tags = ["", "\0", "a b", "😀", String(repeating: "x", count: 1_024)] + (0..<995).map { "tag \($0)" }
        for tag in ["", "\0", String(repeating: "x", count: 1_024), "tag 994"] {
            try await memory.set(1, for: "a", tags: tags)
            #expect(try await memory.get("a") == 1)
            try await memory.invalidate(tag: tag)
            #expect(try await memory.get("a") == nil)
        }
        try await memory.set(1, for: "a", tags: ["caf\u{e9}"])
        try await memory.invalidate(tag: "cafe\u{301}")
        #expect(try await memory.get("a") == nil)
    }

    @Test("too many tags and too long ones are refused, and nothing changes")
    func refused() async throws {
        try await memory.set(1, for: "a", tags: ["red"])
        let many = await #expect(throws: CacheError.self) {
            try await memory.set(2, for: "a", tags: (0...1_000).map { "\($0)" })
        }
        let long = await #expect(throws: CacheError.self) {
            try await memory.invalidate(tags: ["red", String(repeating: "x", count: 1_025)])
        }
        #expect(many?.code == .invalidTags)
        #expect(long?.code == .invalidTags)
        #expect(try await memory.get("a") == 1)
    }

    @Test("an entry that is taken from memory and put back keeps its seal, and no chain grows")
    func putBack() async throws {
        try await memory.set(1, for: "a", tags: ["red"])
        let first = try #require(try await memory.entry(for: "a", ReadRequest()))
        try await memory.store(first, for: "a")
        let second = try #require(try await memory.entry(for: "a", ReadRequest()))
        #expect(first.seal === second.seal)
        // What is put back after the invalidation is void all the same.
        try await memory.invalidate(tag: "red")
        try await memory.store(second, for: "a")
        #expect(try await memory.get("a") == nil)
    }
}
