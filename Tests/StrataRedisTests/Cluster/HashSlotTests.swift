import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Slots of keys", .timeLimit(.minutes(5)))
struct HashSlotTests {
    @Test("the check value of the specification, and what stands between the first braces")
    func known() {
        #expect(HashSlot.of("123456789" as RedisKey) == 0x31C3)
        #expect(HashSlot.of("foo" as RedisKey) == 12_182)
        #expect(HashSlot.of("{user1000}.following" as RedisKey) == HashSlot.of("user1000" as RedisKey))
        #expect(HashSlot.of("foo{{bar}}zap" as RedisKey) == HashSlot.of("{bar" as RedisKey))
        #expect(HashSlot.of("foo{bar}{zap}" as RedisKey) == HashSlot.of("bar" as RedisKey))
    }

    @Test("a server counts the same, also of keys with braces in odd places")
    func server() async throws {
        let cluster = try await TestCluster.shared()
        for key in ["", "{}", "foo{}{bar}", "}{", "{", "a{b", "a}b{c}", "\u{1F600}{\u{e9}}"] {
            let slot = try await cluster.primaries[0].command("CLUSTER", "KEYSLOT", key).integer
            #expect(slot == Int64(HashSlot.of(RedisKey(key))), "\(key)")
        }
    }

    @Test("value and lease of a key lie in one slot, and the marks of a part in the part")
    func layout() {
        let keyspace = Keyspace("articles")
        for number in 0..<200 {
            let names = keyspace.names(for: "\(number)".keyBytes, isDivided: true)
            #expect(HashSlot.of(names.value) == HashSlot.of(names.lease))
            #expect(names.part?.slots.contains(Int(HashSlot.of(names.value))) == true)
        }
        for part in KeyspacePart.all {
            #expect(part.slots.contains(Int(HashSlot.of(keyspace.marks(of: part)))))
            #expect(keyspace.part(ofMarks: keyspace.marks(of: part)) == .some(part))
            #expect(keyspace.part(ofChannel: keyspace.channel(of: part)) == .some(part))
        }
        #expect(keyspace.part(ofMarks: keyspace.marks) == .some(nil))
        #expect(keyspace.part(ofMarks: keyspace.tags) == nil)
    }

    @Test("the keys of a keyspace lie in slots of all parts")
    func spread() {
        let parts = Set((0..<500).map { Keyspace("a").names(for: "\($0)".keyBytes, isDivided: true).part })
        #expect(parts.count == KeyspacePart.count)
    }
}
