import StrataCBOR
import Testing

@Suite("CBOR: deterministic encoding, RFC 8949 §4.2.1")
struct CBORDeterminismTests {
    @Test(
        "integers have the shortest head",
        arguments: [
            (0, "00"), (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65_535, "19ffff"),
            (65_536, "1a00010000"),
            (4_294_967_295, "1affffffff"), (4_294_967_296, "1b0000000100000000"), (-1, "20"), (-24, "37"),
            (-25, "3818"),
            (-256, "38ff"), (-257, "390100"), (Int.min, "3b7fffffffffffffff"),
        ]
    )
    func integers(value: Int, bytes: String) throws {
        #expect(try hex(CBOREncoder().encode(value)) == bytes)
    }

    @Test("integers of 128 bits become bignums only where they have to")
    func wideIntegers() throws {
        #expect(try hex(CBOREncoder().encode(Int128(UInt64.max))) == "1bffffffffffffffff")
        #expect(try hex(CBOREncoder().encode(Int128(UInt64.max) + 1)) == "c249010000000000000000")
        #expect(try hex(CBOREncoder().encode(-1 - Int128(UInt64.max))) == "3bffffffffffffffff")
        #expect(try hex(CBOREncoder().encode(-2 - Int128(UInt64.max))) == "c349010000000000000000")
        #expect(try hex(CBOREncoder().encode(UInt128.max)) == "c250" + String(repeating: "f", count: 32))
    }

    @Test(
        "floating-point numbers have the shortest form that keeps them",
        arguments: [
            (0.0, "f90000"), (-0.0, "f98000"), (1.0, "f93c00"), (65_504.0, "f97bff"), (65_505.0, "fa477fe100"),
            (65_536.0, "fa47800000"), (0x1p-24, "f90001"), (0x1p-25, "fa33000000"), (0x1.8p-24, "fa33c00000"),
            (0x1p-14, "f90400"), (0x1.ff8p-15, "f903ff"), (0x1.ffep-15, "fa387ff000"), (1.1, "fb3ff199999999999a"),
            (0x1p-149, "fa00000001"), (0x1p-150, "fb3690000000000000"), (-.infinity, "f9fc00"),
            (Double(bitPattern: 0xFFF8_0000_0000_0123), "f97e00"),
        ]
    )
    func floatingPoint(value: Double, bytes: String) throws {
        #expect(try hex(CBOREncoder().encode(value)) == bytes)
    }

    @Test("every half-precision number is written as one and comes back")
    func halves() throws {
        for bits in 0...UInt16.max where bits & 0x7C00 != 0x7C00 || bits & 0x3FF == 0 {
            let document: [UInt8] = [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)]
            let value = try CBORDecoder().decode(Double.self, from: document)
            #expect(try CBOREncoder().encode(value) == document)
            #if !(os(macOS) && arch(x86_64))
            #expect(value == Double(Float16(bitPattern: bits)))
            #endif
        }
    }

    @Test("map keys stand in the bytewise order of their encoded form")
    func keyOrder() throws {
        let names = [
            "b", "aa", "a", "", "zz", "aaaaaaaaab", "aaaaaaaaaa", "aaaaaaaab", String(repeating: "a", count: 24), "é",
        ]
        let bytes = try CBOREncoder().encode(Dictionary(uniqueKeysWithValues: names.map { ($0, true) }))
        guard case .map(let pairs) = try CBORValue(decoding: bytes) else {
            Issue.record("no map")
            return
        }
        let keys = try pairs.map { try $0.key.encoded() }
        #expect(keys.count == names.count)
        #expect(keys == keys.sorted { $0.lexicographicallyPrecedes($1) })
    }

    @Test("RFC 8949 §4.2.1's own example of key order, with integer keys")
    func integerKeyOrder() throws {
        var encoder = CBOREncoder()
        encoder.usesIntegerKeys = true
        let bytes = try encoder.encode([10: 0, 100: 0, -1: 0])
        #expect(hex(bytes) == "a30a0018640020" + "00")
        #expect(try hex(encoder.encode(["z": 0, "aa": 0])) == "a2617a0062616100")
    }

    @Test("the order of declaration or insertion does not show")
    func insertionOrder() throws {
        struct Ordered: Encodable {
            var names: [String]

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Name.self)
                for (index, name) in names.enumerated() {
                    // Nested writers, values of several bytes and plain ones in turn.
                    switch name.utf8.count % 3 {
                    case 0: try container.encode(name, forKey: Name(name))
                    case 1: try container.encode([name: name], forKey: Name(name))
                    default:
                        var list = container.nestedUnkeyedContainer(forKey: Name(name))
                        try list.encode(name)
                    }
                    _ = index
                }
            }
        }
        var random = SplitMix64.printed("insertionOrder")
        for count in [2, 5, 31, 32, 33, 60, 300] {
            let names = (0..<count).map { String(repeating: "key", count: $0 % 7) + "\($0)" }
            let expected = try CBOREncoder().encode(Ordered(names: names))
            #expect(try CBORValue(decoding: expected).encoded() == expected)
            for _ in 0..<4 {
                #expect(try CBOREncoder().encode(Ordered(names: names.shuffled(using: &random))) == expected)
            }
        }
    }

    @Test("of a key that is written several times the last value stays, in maps of any size", arguments: [3, 40])
    func repeatedKeys(count: Int) throws {
        struct Repeating: Encodable {
            var count: Int

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Name.self)
                for round in 0..<3 {
                    for index in 0..<count {
                        try container.encode(round * 1000 + index, forKey: Name("a long name \(index)"))
                    }
                }
            }
        }
        let bytes = try CBOREncoder().encode(Repeating(count: count))
        let copy = try CBORDecoder().decode([String: Int].self, from: bytes)
        #expect(copy.count == count)
        #expect(copy["a long name 1"] == 2001)
        #expect(try CBORValue(decoding: bytes).encoded() == bytes)
    }

    @Test("integer keys lead back to their keys, and look-alikes do not meet")
    func integerKeys() throws {
        struct Compact: Codable, Equatable {
            var id = 5
            var name = "n"
            var note: String? = "x"

            enum CodingKeys: Int, CodingKey { case id = 1, name = 2, note = 300 }
        }
        var encoder = CBOREncoder()
        encoder.usesIntegerKeys = true
        #expect(try hex(encoder.encode(Compact())) == "a3010502616e19012c6178")
        try expectRoundTrip(Compact(), encoder: encoder)
        try expectRoundTrip(Compact())
        try expectRoundTrip(["1": "a", "01": "b", "+1": "c", "-1": "d", "x": "e"], encoder: encoder)
        try expectRoundTrip(["1": [1.5], "01": [], "x": [2]], encoder: encoder)
        try expectRoundTrip([Int.max: [1], Int.min: [2], 4_294_967_296: [3], 4_294_967_297: [4]], encoder: encoder)
    }
}

/// A coding key of any name.
struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) {
        stringValue = name
    }

    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
