import Strata
import Testing

@testable import StrataRedis

@Suite("Names of keys taken apart")
struct KeyspaceEntryNameTests {
    @Test("every name that a keyspace gives is taken apart into what it was made of")
    func roundTrip() throws {
        for keyspace in KeyspaceTests.keyspaces {
            for key in KeyspaceTests.hostile {
                let names = keyspace.names(for: key)
                let value = try #require(KeyspaceEntryName(names.value))
                let lease = try #require(KeyspaceEntryName(names.lease))
                #expect(value.keyspace == keyspace && lease.keyspace == keyspace)
                #expect(value.kind == .value && lease.kind == .lease)
                #expect(value.userKey == (key.isEmpty ? nil : key))
                #expect(lease.userKey == value.userKey)
            }
        }
    }

    @Test("of a hashed key the name knows everything but the key")
    func hashed() throws {
        for key in KeyspaceTests.long {
            let name = try #require(KeyspaceEntryName(Keyspace("p").names(for: key).value))
            #expect(name.keyspace == Keyspace("p"))
            let isHashed = Keyspace("p").names(for: key).value.bytes.starts(with: "strata:p:v:{%#".utf8)
            #expect((name.userKey == nil) == isHashed)
            #expect(name.userKey == nil || name.userKey == key)
        }
    }

    /// A name with a part in another form than a keyspace writes it would be shown as a key that lies elsewhere.
    @Test(
        "what no keyspace has named is not taken apart",
        arguments: [
            "", "strata", "strata:p", "strata:p:v", "strata:p:v:", "strata:p:v:{", "strata:p:v:}", "strata:p:v:{}",
            "strata:p:v:a",
            "strata:p:v:{a", "strata:p:v:a}", "strata:p:v:x{a}", "strata:p:v:{a}x", "strata:p:x:{a}", "strata:p:V:{a}",
            "strata:p:ev", "strata:p::{a}", "strata::p:v:{a}", "a:strata:p:v:{a}", "strata:p:v:{{a}}",
            "strata:p:v:{a}b}",
            "strata:p:v:{%41}", "strata:p:v:{%7b}", "strata:p:v:{%}", "strata:p:v:{%2}", "strata:p:v:{%zz}",
            "strata:p:v:{\0}",
            "strata:p:v:{\r\n}", "strata:%70:v:{a}", "strata:%3a:v:{a}", "strata:{p}:v:{a}", "strata:%:v:{a}",
            "strata:%FF:v:{a}",
            "strata:p\u{1b}:v:{a}", "strata:p:v:{%#}", "strata:p:v:{%#abc}", "strata:p:v:{%#xyz}",
            "strata:p:v:{%#E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855}",
            "strata:p:v:{%#e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85}",
            "strata:p:v:{%#e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8555}",
            "strata:p:v:{%#e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85g}",
            "strata:%7bp:v:{%#e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}",
        ] + [513, 600].map { "strata:p:v:{\(String(repeating: "x", count: $0))}" }
    )
    func foreign(name: String) {
        #expect(KeyspaceEntryName(RedisKey(name)) == nil)
    }

    @Test("random names are taken apart only into what gives them again")
    func random() {
        var random = SplitMix64.announced()
        let pieces = ["strata", "p", ":", ":", ":", "v", "l", "{", "}", "%", "7B", "41", "#", "a", "\0", "é"]
        var taken = 0
        for _ in 0..<50_000 {
            let count = Int.random(in: 0...6, using: &random)
            let middle = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let name = RedisKey(random.once(in: 4) ? middle : "strata:p:v:{\(middle)}")
            guard let parts = KeyspaceEntryName(name), let key = parts.userKey else { continue }
            taken += 1
            let names = parts.keyspace.names(for: key)
            #expect((parts.kind == .value ? names.value : names.lease) == name)
        }
        #expect(taken > 1_000)
    }
}
