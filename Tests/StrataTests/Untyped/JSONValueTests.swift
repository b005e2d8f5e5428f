import Foundation
import Testing

@testable import Strata

@Suite("Values without a type")
struct JSONValueTests {
    private let document: JSONValue = [
        "title": "Tea", "price": 349, "weight": 0.25, "inStock": true, "note": nil,
        "tags": ["green", "loose", []], "maker": ["name": "Ōsaka", "ids": [1, -2, 3.5]],
    ]

    private static let codecs: [(name: String, codec: Codec<JSONValue>)] = [("json", .json), ("cbor", .cbor)]

    @Test("come back from JSON and CBOR as they were", arguments: ["json", "cbor"])
    func roundTrip(name: String) throws {
        let codec = try #require(Self.codecs.first { $0.name == name }).codec
        let values: [JSONValue] = [
            document, nil, true, false, "", "text", [], [:], 0, -1, 0.5, [nil, [nil]],
            .integer(.max), .integer(.min), .unsigned(.max), .number(1e300), .number(-2.5e-7),
            [.unsigned(1 << 63), .integer(.min)], ["a": .unsigned(.max)],
        ]
        for value in values { #expect(try codec.decode(codec.encode(value)) == value) }
    }

    @Test("random documents come back from both formats")
    func random() throws {
        let seed = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
        print("JSONValueTests.random: STRATA_SEED=\(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<300 {
            let value = Self.value(depth: 5, &random)
            for (name, codec) in Self.codecs {
                #expect(try codec.decode(codec.encode(value)) == value, "\(name)")
            }
        }
    }

    private static func value(depth: Int, _ random: inout SplitMix64) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 7), using: &random) {
        case 0: return nil
        case 1: return .bool(.random(using: &random))
        case 2: return .integer(Int64(truncatingIfNeeded: random.next() >> UInt64.random(in: 0..<64, using: &random)))
        case 3: return JSONValue(exactly: random.next()) ?? nil
        // Not whole: JSON writes those like integers.
        case 4: return .number(Double(Int.random(in: -999...999, using: &random)) + 0.5)
        case 5, 6: return .string(String((0..<3).map { _ in "aé\"\\\n💧".randomElement(using: &random) ?? "a" }))
        case 7:
            return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth - 1, &random) })
        default:
            var object: [String: JSONValue] = [:]
            for key in 0..<Int.random(in: 0..<5, using: &random) {
                object["k\(key)"] = value(depth: depth - 1, &random)
            }
            return .object(object)
        }
    }

    @Test("CBOR keeps the kind of whole numbers, JSON writes them alike")
    func kinds() throws {
        let number: JSONValue = [1.0, .number(0x1p50), 1]
        #expect(try Codec.cbor.decode(Codec.cbor.encode(number)) == number)
        #expect(try Codec<JSONValue>.json.decode(Codec.json.encode(number)) == [1, .integer(1 << 50), 1])
        #expect(
            try Codec<JSONValue>.json.decode(Array("[1, 1.5, 18446744073709551615]".utf8)) == [1, 1.5, .unsigned(.max)]
        )
        // Beyond 64 bits, the nearest that a Double holds.
        #expect(try Codec<JSONValue>.json.decode(Array("36893488147419103232".utf8)) == .number(0x1p65))
        #expect(JSONValue.integer(1) != .number(1))
    }

    @Test("a number without a sign is the same value as one with, where both hold it")
    func equality() {
        #expect(JSONValue.unsigned(5) == .integer(5) && JSONValue.integer(5) == .unsigned(5))
        #expect(JSONValue.unsigned(5).hashValue == JSONValue.integer(5).hashValue)
        #expect(JSONValue.unsigned(.max) != .integer(-1))
        #expect(JSONValue(exactly: 7 as UInt8) == .integer(7))
        #expect(JSONValue(exactly: UInt64.max) == .unsigned(.max) && JSONValue(exactly: Int128.max) == nil)
        #expect(Set([document, document, 1, .unsigned(1)]).count == 2)
    }

    @Test("parts are read and set by key and place")
    func subscripts() {
        var value = document
        #expect(value["price"]?.integer == 349 && value["weight"]?.number == 0.25 && value["price"]?.number == 349)
        #expect(value["inStock"]?.bool == true && value["note"]?.isNull == true && value["nothing"] == nil)
        #expect(value["tags"]?[1]?.string == "loose" && value["tags"]?[9] == nil && value["tags"]?[-1] == nil)
        #expect(value["maker"]?["ids"]?[2]?.number == 3.5 && value["title"]?["x"] == nil && value[0] == nil)
        #expect(JSONValue.unsigned(.max).integer == nil && JSONValue.unsigned(7).integer == 7)
        #expect(value["tags"]?.array?.count == 3 && value["maker"]?.object?.count == 2)
        value["price"] = 400
        value["maker"]?["name"] = "Kyōto"
        value["note"] = .some(nil)
        value["weight"] = nil
        #expect(
            value["price"] == 400 && value["maker"]?["name"] == "Kyōto"
                && value.object?.keys.contains("weight") == false
        )
        value["title"]?["now"] = "an object"
        #expect(value["title"] == ["now": "an object"])
        var text: JSONValue = "text"
        text["gone"] = nil
        #expect(text == "text")
    }

    @Test("what is nested too deep is neither read nor written")
    func nesting() throws {
        func nested(_ depth: Int) -> JSONValue {
            (0..<depth).reduce(1) { inner, level in level % 2 == 0 ? [inner] : ["k": inner] }
        }
        for (name, codec) in Self.codecs {
            let deepest = nested(JSONValue.nestingLimit)
            #expect(try codec.decode(codec.encode(deepest)) == deepest, "\(name)")
            #expect(throws: CacheError.self, "\(name)") { try codec.encode(nested(JSONValue.nestingLimit + 1)) }
        }
        let text = String(repeating: "[", count: 129) + String(repeating: "]", count: 129)
        #expect(throws: CacheError.self) { try Codec<JSONValue>.json.decode(Array(text.utf8)) }
        let bytes = [UInt8](repeating: 0x81, count: 129) + [0x01]
        #expect(throws: CacheError.self) { try Codec<JSONValue>.cbor.decode(bytes) }
        #expect(throws: CacheError.self) { try Codec<JSONValue>.json.encode(.number(.nan)) }
    }

    @Test("documents of CBOR that JSON has no form for")
    func otherItems() throws {
        func decode(_ bytes: [UInt8]) throws -> JSONValue { try Codec<JSONValue>.cbor.decode(bytes) }
        // 4 bytes, a date in tag 1, undefined, a key that is a number, and -2^64.
        #expect(try decode([0x44, 0xfb, 0xff, 0x00, 0x01]) == "-_8AAQ")
        #expect(try decode([0x42, 0xfb, 0xff]) == "-_8")
        #expect(try decode([0xc1, 0x18, 0x64]) == 100)
        #expect(try decode([0xf7]) == nil)
        #expect(try decode([0xa2, 0x01, 0x02, 0x20, 0x03]) == ["1": 2, "-1": 3])
        #expect(try decode([0x3b] + [UInt8](repeating: 0xff, count: 8)) == .number(-0x1p64))
        #expect(throws: CacheError.self) { try decode([0xa1, 0x80, 0x01]) }
        // A half is a number, also a whole one.
        #expect(try decode([0xf9, 0x3c, 0x00]) == 1.0)
    }

    @Test("inside of types that are known, in both formats")
    func inside() throws {
        struct Order: Codable, Sendable, Equatable {
            var id: Int
            var extra: JSONValue
            var others: [JSONValue]
            var missing: JSONValue?
        }
        let order = Order(id: 1, extra: document, others: [1, "two", [3]], missing: nil)
        #expect(try Codec<Order>.json.decode(Codec<Order>.json.encode(order)) == order)
        #expect(try Codec<Order>.cbor.decode(Codec<Order>.cbor.encode(order)) == order)
        // A typed document read without its type.
        let untyped = try Codec<JSONValue>.cbor.decode(Codec<Order>.cbor.encode(order))
        #expect(untyped["extra"] == document && untyped["id"] == 1)
    }
}
