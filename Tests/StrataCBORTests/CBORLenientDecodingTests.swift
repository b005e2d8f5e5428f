import StrataCBOR
import Testing

@Suite("CBOR: documents that other encoders make")
struct CBORLenientDecodingTests {
    struct Point: Codable, Equatable {
        var x: Int
        var label: String
        var tags: [String]
    }

    private let decoder = CBORDecoder()
    private let point = Point(x: 1, label: "abc", tags: ["a", "b"])

    @Test(
        "maps in any order, with keys and values in any valid form",
        arguments: [
            // In order; unsorted; indefinite map and array; indefinite texts as value, element and key; long heads;
            // tags all over; unknown pairs of every kind beside.
            "a3 6178 01 6474616773 82 6161 6162 656c6162656c 63616263",
            "a3 656c6162656c 63616263 6474616773 82 6161 6162 6178 01",
            "bf 656c6162656c 63616263 6474616773 9f 6161 6162 ff 6178 01 ff",
            "a3 7f 61 6c 64 6162656c ff 7f 6161 626263 ff 7f6474616773ff 82 7f6161ff 7f60616260ff 7f6178ff 01",
            "b90003 7805 6c6162656c 790003616263 7a00000004 74616773 9b0000000000000002 6161 7b0000000000000001"
                + "62 780178 1b0000000000000001",
            "d9d9f7 a3 656c6162656c d864 d865 63616263 6474616773 c6 82 c7 6161 6162 6178 c8 c9 01",
            "ab 00 01 20 02 4161 03 8101 04 a0 05 f5 06 fb3ff199999999999a 07 c06178 08 6178 01 656c6162656c 63616263"
                + "6474616773 826161 6162",
        ]
    )
    func forms(document: String) throws {
        #expect(try decoder.decode(Point.self, from: hex(document)) == point)
    }

    @Test("keys of twenty-four bytes and more, in long and in short form")
    func longKeys() throws {
        let name = String(repeating: "k", count: 30)
        let text = hex(Array(name.utf8))
        let expected = [name: 1]
        #expect(try decoder.decode([String: Int].self, from: hex("a1 781e \(text) 01")) == expected)
        #expect(try decoder.decode([String: Int].self, from: hex("a1 79001e \(text) 01")) == expected)
        #expect(
            try decoder.decode([String: [Int]].self, from: hex("a1 7b000000000000001e \(text) 8101")) == [name: [1]]
        )
        #expect(
            try decoder.decode(
                [String: Int].self,
                from: hex("a1 7f \(hex([0x6F] + name.utf8.prefix(15)))\(hex([0x6F] + name.utf8.suffix(15))) ff 01")
            ) == expected
        )
    }

    @Test("integer keys for the keys of a struct, of a dictionary by Int and by String")
    func integerKeys() throws {
        struct Numbered: Decodable, Equatable {
            var id: Int
            var far: Int
            enum CodingKeys: Int, CodingKey { case id = 1, far = 4_294_967_297 }
        }
        let document = hex("a2 1b0000000100000001 07 01 05")
        #expect(try decoder.decode(Numbered.self, from: document) == Numbered(id: 5, far: 7))
        #expect(
            try decoder.decode(Numbered.self, from: hex("a2 1b0000000100000001 07 190001 05"))
                == Numbered(id: 5, far: 7)
        )
        #expect(try decoder.decode([Int: Int].self, from: document) == [1: 5, 4_294_967_297: 7])
        #expect(try decoder.decode([String: Int].self, from: document) == ["1": 5, "4294967297": 7])
        #expect(try decoder.decode([String: [Int]].self, from: hex("a1 20 8105")) == ["-1": [5]])
        #expect(try decoder.decode([Int: Int].self, from: hex("a1 6135 05")) == [5: 5])
        // -1 - 2^64 + 1 is an integer that no Int holds: passed over.
        #expect(try decoder.decode([String: Int].self, from: hex("a2 3bffffffffffffffff 05 6161 06")) == ["a": 6])
    }

    @Test("numbers in other forms than the type's own")
    func numbers() throws {
        #expect(try decoder.decode(Int.self, from: hex("1b0000000000000005")) == 5)
        #expect(try decoder.decode(Int.self, from: hex("f94500")) == 5)
        #expect(try decoder.decode(Int8.self, from: hex("fbc060000000000000")) == -128)
        #expect(try decoder.decode(Int.self, from: hex("c24105")) == 5)
        #expect(try decoder.decode(Int.self, from: hex("c2 58 14 00000000000000000000000000000000000000ff")) == 255)
        #expect(try decoder.decode(Int.self, from: hex("c3 5f 4100 4105 ff")) == -6)
        #expect(try decoder.decode(UInt64.self, from: hex("c240")) == 0)
        #expect(try decoder.decode(Int.self, from: hex("d8ff05")) == 5)
        #expect(try decoder.decode(Double.self, from: hex("05")) == 5)
        #expect(try decoder.decode(Double.self, from: hex("3903e7")) == -1000)
        #expect(try decoder.decode(Double.self, from: hex("fa47c35000")) == 100_000)
        #expect(try decoder.decode(Float.self, from: hex("fb3ff199999999999a")) == 1.1)
        #expect(try decoder.decode([Double].self, from: hex("84 01 20 f93c00 fa3f800000")) == [1, -1, 1, 1])
        for document in [
            "f93800", "fb7ff0000000000000", "f97e00", "fb43f0000000000000", "c2 49 010000000000000000",
            "c3 48 ffffffffffffffff",
        ] {
            #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: hex(document)) }
        }
        #expect(throws: DecodingError.self) { try decoder.decode(UInt8.self, from: hex("20")) }
        #expect(throws: DecodingError.self) { try decoder.decode(UInt128.self, from: hex("c3 40")) }
        #expect(throws: DecodingError.self) {
            try decoder.decode(UInt128.self, from: hex("c2 51 0100000000000000000000000000000000"))
        }
        #expect(throws: DecodingError.self) {
            try decoder.decode(Int128.self, from: hex("c2 50 80000000000000000000000000000000"))
        }
        #expect(try decoder.decode(Int128.self, from: hex("c3 50 7fffffffffffffffffffffffffffffff")) == .min)
        // 2^53 + 1 and 10^300 would have to be rounded.
        #expect(throws: DecodingError.self) { try decoder.decode(Double.self, from: hex("1b0020000000000001")) }
        #expect(throws: DecodingError.self) { try decoder.decode(Float.self, from: hex("fb7e37e43c8800759c")) }
    }

    @Test("a key twice: refused by default, else the first or the last one counts", arguments: [2, 40])
    func duplicateKeys(count: Int) throws {
        // {"k": 0, "k": 1, …} once sorted by nothing, once hidden behind another form of the same key, once deep
        // inside.
        let pairs = (0..<count).map { "616b" + ($0 < 24 ? "" : "18") + hex([UInt8($0)]) }.joined()
        let head = count < 24 ? hex([0xA0 + UInt8(count)]) : "b8" + hex([UInt8(count)])
        var lenient = CBORDecoder()
        for document in [head + pairs, "bf" + pairs.replacing("616b", with: "78016b") + "ff"] {
            let error = try #require(throws: CBORError.self) {
                try decoder.decode([String: Int].self, from: hex(document))
            }
            #expect(error.code == .duplicateKey)
            #expect(path(error.codingPath) == "k")
            lenient.duplicateKeys = .useFirst
            #expect(try lenient.decode([String: Int].self, from: hex(document)) == ["k": 0])
            lenient.duplicateKeys = .useLast
            #expect(try lenient.decode([String: Int].self, from: hex(document)) == ["k": count - 1])
        }
        #expect(throws: CBORError.self) { try decoder.decode([String].self, from: hex("82 6161 \(head)\(pairs)")) }
        let mixed = hex("a3 616b 01 7f616bff 02 616a 03")
        #expect(throws: CBORError.self) { try decoder.decode([String: Int].self, from: mixed) }
        lenient.duplicateKeys = .useFirst
        #expect(try lenient.decode([String: Int].self, from: mixed) == ["k": 1, "j": 3])
        #expect(throws: CBORError.self) { try decoder.decode([String: Int].self, from: hex("a2 8101 02 8101 03")) }
        #expect(throws: CBORError.self) { try decoder.decode([String: Int].self, from: hex("a2 01 02 1801 03")) }
    }

    @Test("maps of many keys in random order", arguments: [1, 16, 17, 18, 100, 1000])
    func manyKeys(count: Int) throws {
        var random = SplitMix64.printed("manyKeys")
        let names = (0..<count).map { String(repeating: "prefix", count: $0 % 7) + "\($0)" }
        var document = hex("bf")
        for name in names.shuffled(using: &random) {
            document += try CBOREncoder().encode(name)
            document += try CBOREncoder().encode([name])
        }
        document += [0xFF]
        let expected = Dictionary(uniqueKeysWithValues: names.map { ($0, [$0]) })
        #expect(try decoder.decode([String: [String]].self, from: document) == expected)
        struct Probe: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Name.self)
                for key in container.allKeys.reversed() {
                    #expect(try container.decode([String].self, forKey: key) == [key.stringValue])
                    #expect(!container.contains(Name(key.stringValue + "?")))
                    #expect(!container.contains(Name("!" + key.stringValue)))
                }
            }
        }
        _ = try decoder.decode(Probe.self, from: document)
    }

    @Test("a decoder that is kept reads on after the call")
    func keptDecoder() throws {
        struct Later: Decodable {
            let decoder: any Decoder
            let keyed: KeyedDecodingContainer<Name>

            init(from decoder: any Decoder) throws {
                self.decoder = decoder
                keyed = try decoder.container(keyedBy: Name.self)
            }
        }
        var bytes = hex("a2 6161 8101 7f616bff a1 6162 02")
        let later = try decoder.decode([Later].self, from: [0x81] + bytes)
        bytes = []
        #expect(try later[0].keyed.decode([Int].self, forKey: Name("a")) == [1])
        #expect(try later[0].keyed.decode([String: Int].self, forKey: Name("k")) == ["b": 2])
        #expect(path(later[0].decoder.codingPath) == "0")
    }
}
