import Strata
import Testing

@testable import StrataRedis

@Suite("Keys as tools show them")
struct InspectedKeyTests {
    let keyspace = Keyspace("things", prefix: "app")

    @Test("an escaped key reads back as the same key, whatever its bytes")
    func roundTrip() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed: \(seed)")
        var random = SplitMix64(seed: seed)
        var shown: [String: [UInt8]] = [:]
        for _ in 0..<2000 {
            let bytes = Self.bytes(&random)
            let key = InspectedKey(bytes, in: keyspace)
            #expect(key.userKey == bytes)
            let text = key.escaped
            #expect(InspectedKey(escaped: text, in: keyspace) == key, "seed \(seed)")
            #expect(shown[text] == nil || shown[text] == bytes, "seed \(seed): two keys look the same")
            shown[text] = bytes

            // Found by its name in Redis it is the same key, or all that is left of it is the hash.
            for name in [key.name, key.leaseName] {
                let found = try #require(InspectedKey(name: name, in: keyspace))
                #expect(found.name == key.name && found.leaseName == key.leaseName)
                #expect(found.form == key.form)
                #expect(found.userKey == (key.form == .hashed ? nil : bytes), "seed \(seed)")
                #expect(InspectedKey(escaped: found.escaped, in: keyspace) == found, "seed \(seed)")
            }
        }
    }

    @Test("a name that no keyspace makes is shown whole, and reads back")
    func irregular() throws {
        let suffixes = [
            "", "x", "{}", "{a", "a}", "{%}", "{%zz}", "{%41}", "{%7b}", "{%#}", "{%#abc}", "{\u{1b}[31m}", "{a}b",
            "{%#" + String(repeating: "A", count: 64) + "}", "{" + String(repeating: "a", count: 513) + "}",
        ]
        for suffix in suffixes {
            for room in ["v", "l"] {
                let name = RedisKey("app:things:\(room):\(suffix)")
                let key = try #require(InspectedKey(name: name, in: keyspace))
                #expect(key.form == .irregular, "\(suffix)")
                #expect(key.userKey == nil)
                #expect(key.name.bytes == Array("app:things:v:\(suffix)".utf8))
                #expect(key.leaseName.bytes == Array("app:things:l:\(suffix)".utf8))
                #expect(key.escaped.hasPrefix("\\=app:things:v:"))
                #expect(InspectedKey(escaped: key.escaped, in: keyspace) == key)
            }
        }
    }

    @Test("a keyspace whose name begins with a combining mark: what is shown reads back")
    func combiningMark() throws {
        let keyspace = Keyspace("\u{327}things", prefix: "\u{34b}app")
        let values = String(decoding: keyspace.values, as: UTF8.self)
        for suffix in ["{%41}", "x", "{a}", "{%#" + String(repeating: "a", count: 64) + "}"] {
            let key = try #require(InspectedKey(name: RedisKey(values + suffix), in: keyspace))
            #expect(InspectedKey(escaped: key.escaped, in: keyspace) == key)
        }
    }

    @Test("a hashed name shows its hash, and is no user's key that looks like it")
    func hashed() throws {
        let long = InspectedKey(Array(repeating: 0x61, count: 2000), in: keyspace)
        let found = try #require(InspectedKey(name: long.name, in: keyspace))
        #expect(found.form == .hashed)
        #expect(found.escaped.hasPrefix("\\#"))
        #expect(found.escaped.count == 66)
        let imitation = InspectedKey(Array(found.escaped.utf8), in: keyspace)
        #expect(imitation.name != found.name)
        #expect(imitation.escaped != found.escaped)
    }

    @Test(
        "names of other keyspaces are not taken",
        arguments: [
            "", "app", "app:things", "app:things:x:{a}", "app:thing:v:{a}", "other:things:v:{a}", "app:things:t:a",
        ]
    )
    func foreign(name: String) {
        #expect(InspectedKey(name: RedisKey(name), in: keyspace) == nil)
        #expect(InspectedKey(escaped: "\\=" + name, in: keyspace) == nil)
    }

    @Test(
        "a backslash that begins no escape is refused",
        arguments: [
            "\\", "a\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x+1", "\\u", "\\u{}", "\\u{", "\\u{d800}", "\\u{110000}",
            "\\u{+41}", "\\u{0000041}", "\\#", "\\#12", "\\=app:things:v:\\q",
        ]
    )
    func malformed(text: String) {
        #expect(InspectedKey(escaped: text, in: keyspace) == nil)
    }

    private static func bytes(_ random: inout SplitMix64) -> [UInt8] {
        let count = Int.random(in: 0...12, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
        case 1:
            let letters = Array("ax\\#={}%:u1\u{1b}\u{202e}\u{9b}\u{0}é日🙂\u{301}\u{2028}")
            return Array(String((0..<count).map { _ in letters.randomElement(using: &random)! }).utf8)
        case 2:
            return Array("\\#=x{}%".utf8.shuffled(using: &random).prefix(count))
        default:
            return (0..<(count * 60)).map { _ in UInt8.random(in: 0...0x7f, using: &random) }
        }
    }
}
