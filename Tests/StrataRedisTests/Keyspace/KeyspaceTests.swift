import Strata
import Testing

@testable import StrataRedis

@Suite("Keys in a keyspace")
struct KeyspaceTests {
    /// The bytes that decide a key's slot in a cluster, by the rule of the cluster specification.
    static func hashTag(_ key: [UInt8]) -> [UInt8] {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key }
        let rest = key[(open + 1)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > open + 1 else { return key }
        return Array(key[(open + 1)..<close])
    }

    /// Keys with characters that have a meaning on their way.
    static let hostile: [[UInt8]] =
        [
            "", " ", "a", "{", "}", "{}", "{a}", "{}a", "a}b{c", "{{a}}", "%", "%%", "%7B", "%7b", "%25", "%#", "%#a",
            "#", "*", "?",
            "[a]", "[^a]", "\\", "*?[", "\r\n", "\r", "\n", "\0", "\0\0", "\t", "\u{1b}[31m", "\u{7f}", "\u{80}", ":",
            "::", "a:b",
            "v:", "l:", "ev", "strata:test:v:{a}", "😀", "é", "日本語", "\u{202e}", "$3\r\nDEL\r\n", "*1\r\n", "'", "\"",
            "`", "--",
        ]
        .map { Array($0.utf8) } + [[0xff], [0xff, 0xfe], [0x80], [0xc3], [0xc3, 0x28], [0x25, 0xff], Array(0...255)]

    /// Keys around the length from which on they are hashed, and beyond it.
    static let long: [[UInt8]] =
        [510, 511, 512, 513, 514, 600, 1 << 12].map { [UInt8](repeating: UInt8(ascii: "x"), count: $0) }
        + [170, 171, 172, 512].map { [UInt8](repeating: UInt8(ascii: "%"), count: $0) }

    /// Keys of a megabyte, two of which differ in their last byte.
    private static let huge: [[UInt8]] = [0x78, 0x79].map { [UInt8](repeating: 0x78, count: 1 << 20) + [$0] }

    /// Names for caches and applications that could be misread as parts of a key.
    static let names = [
        "products", "", ":", "a:b", "a", "b", "{", "}", "{x}", "%", "%3A", "v", "l", "ev", "a:v:{x}", "é", "\r\n",
        "a b",
    ]

    static let keyspaces = names.flatMap { name in
        ["strata", "", "a", "a:b", "{p}"].map { Keyspace(name, prefix: $0) }
    }

    @Test("ordinary keys stay readable")
    func layout() {
        let names = Keyspace("products").names(for: Array("42".utf8))
        #expect(names.value == RedisKey("strata:products:v:{42}"))
        #expect(names.lease == RedisKey("strata:products:l:{42}"))
        #expect(Keyspace("products").events == Array("strata:products:ev".utf8))
        #expect(Keyspace("products").description == "strata:products")
        #expect(Keyspace("p", prefix: "app").names(for: Array("a:b".utf8)).value == RedisKey("app:p:v:{a:b}"))
        #expect(Keyspace("a:b", prefix: "%{").description == "%25%7B:a%3Ab")
    }

    @Test("what would be misread is escaped, what is only unusual is kept")
    func escaped() {
        let keyspace = Keyspace("p")
        for (key, encoded) in [
            ("{a}", "%7Ba%7D"), ("%", "%25"), ("%#", "%25#"), ("\r\n", "%0D%0A"), ("\0", "%00"), ("\u{7f}", "%7F"),
            ("*?[", "*?["), ("é", "é"), (" ", " "),
        ] {
            #expect(keyspace.names(for: Array(key.utf8)).value == RedisKey("strata:p:v:{\(encoded)}"))
        }
        #expect(keyspace.names(for: [0xff]).value.bytes == Array("strata:p:v:{".utf8) + [0xff, UInt8(ascii: "}")])
    }

    @Test("empty and long keys become their hash")
    func hashed() {
        let empty = "strata:p:v:{%#e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}"
        #expect(Keyspace("p").names(for: []).value == RedisKey(empty))
        for key in Self.long {
            let name = Keyspace("p").names(for: key).value.bytes
            let isHashed = name.starts(with: "strata:p:v:{%#".utf8)
            let encoded = key.reduce(0) { $0 + (($1 < 0x20 || $1 == UInt8(ascii: "%")) ? 3 : 1) }
            #expect(isHashed == (encoded > 512), "\(key.count) bytes")
        }
    }

    @Test("different keys have different names, in values and leases and over all keyspaces")
    func injective() {
        var random = SplitMix64.announced()
        var keys = Self.hostile + Self.long + Self.huge
        for _ in 0..<300 {
            keys.append(
                (0..<Int.random(in: 1...4, using: &random))
                    .flatMap { _ in
                        Self.hostile.randomElement(using: &random) ?? []
                    }
            )
        }
        keys = Array(Set(keys))
        var seen: Set<RedisKey> = []
        for keyspace in [Keyspace("p"), Keyspace("p:v", prefix: "{strata}")] {
            for key in keys {
                let names = keyspace.names(for: key)
                #expect(seen.insert(names.value).inserted && seen.insert(names.lease).inserted)
            }
        }
        var all: Set<RedisKey> = []
        for keyspace in Self.keyspaces {
            for key in Self.hostile {
                let names = keyspace.names(for: key)
                #expect(all.insert(names.value).inserted && all.insert(names.lease).inserted)
            }
            #expect(all.insert(RedisKey(keyspace.events)).inserted)
        }
    }

    @Test("a name is never longer than 512 bytes beyond its keyspace")
    func length() {
        for keyspace in [Keyspace("p"), Keyspace("{a:b}", prefix: "\r\n")] {
            for key in Self.hostile + Self.long {
                let names = keyspace.names(for: key)
                #expect(names.value.bytes.count <= keyspace.values.count + 514)
                #expect(names.lease.bytes.count <= keyspace.leases.count + 514)
                #expect(names.value.bytes.starts(with: keyspace.values))
                #expect(names.lease.bytes.starts(with: keyspace.leases))
            }
        }
    }

    @Test("value and lease of a key share its slot in a cluster, whatever the names")
    func hashTags() {
        for keyspace in Self.keyspaces {
            for key in Self.hostile + Self.long.prefix(5) {
                let names = keyspace.names(for: key)
                let tag = Self.hashTag(names.value.bytes)
                #expect(tag == Self.hashTag(names.lease.bytes))
                #expect(tag.count <= 512 && tag != names.value.bytes)
                let isWhole = names.value.bytes.suffix(tag.count + 2) == [0x7b] + tag + [0x7d]
                #expect(isWhole, "the tag is the whole key of the user")
            }
        }
    }

    @Test("names hold no byte that a terminal or a protocol acts on")
    func noControls() {
        for keyspace in Self.keyspaces {
            for key in Self.hostile {
                let names = keyspace.names(for: key)
                #expect(
                    (names.value.bytes + names.lease.bytes + keyspace.events).allSatisfy { $0 >= 0x20 && $0 != 0x7f }
                )
            }
        }
    }

    @Test("texts that Swift calls equal are one keyspace")
    func normalForm() {
        #expect(Keyspace("caf\u{e9}") == Keyspace("cafe\u{301}"))
        #expect(Keyspace("caf\u{e9}").values == Keyspace("cafe\u{301}").values)
        #expect(Keyspace("x", prefix: "\u{1e9b}\u{323}") == Keyspace("x", prefix: "\u{1e9b}\u{323}"))
        #expect(Keyspace("a") != Keyspace("b"))
        #expect(Keyspace("a", prefix: "x") != Keyspace("a"))
        #expect(("a" as Keyspace) == Keyspace("a"))
    }

    @Test("the fingerprint is the hash of the full name: the same in every process, another in every keyspace")
    func fingerprint() {
        #expect(Keyspace("products").names(for: Array("42".utf8)).fingerprint == 0x05b1_f1ef_2bdb_a342)
        #expect(Keyspace("other").names(for: Array("42".utf8)).fingerprint != 0x05b1_f1ef_2bdb_a342)
    }

    @Test("an event names the key by its full name behind one letter")
    func events() {
        let names = Keyspace("p").names(for: Array("k".utf8))
        #expect(KeyspaceEvent.invalidated.message(for: names) == Array("istrata:p:v:{k}".utf8))
        #expect(KeyspaceEvent.ended.message(for: names) == Array("estrata:p:v:{k}".utf8))
    }
}
