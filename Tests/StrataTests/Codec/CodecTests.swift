import Foundation
import Strata
import Testing

@Suite("Codecs")
struct CodecTests {
    private struct Product: Codable, Equatable, Sendable {
        var name: String
        var price: Double
        var tags: [String]
        var madeAt: Date?
        var parts: [String: Int]
    }

    private static let product = Product(
        name: "Pencil / \"soft\" \u{1f600}\0",
        price: 0.1,
        tags: ["a", ""],
        madeAt: Date(timeIntervalSince1970: 1_700_000_000.25),
        parts: ["b": 2, "a": 1]
    )

    /// The codec's error of a body that has to fail.
    private func failure(_ body: () throws -> Void) -> CacheError? {
        do {
            try body()
            return nil
        } catch {
            return error as? CacheError
        }
    }

    @Test("the numbers by which envelopes name the codecs never change")
    func identifiers() {
        #expect(Codec<[UInt8]>.bytes.identifier == 1)
        #expect(Codec<String>.text.identifier == 2)
        #expect(Codec<Int>.json.identifier == 3)
    }

    @Test("bytes stay as they are", arguments: [[], [0], Array(0...255)] as [[UInt8]])
    func bytes(value: [UInt8]) throws {
        #expect(try Codec.bytes.encode(value) == value)
        #expect(try Codec.bytes.decode(value) == value)
    }

    @Test("text is UTF-8 in the form it has", arguments: ["", "\0", "a\r\n", "é", "e\u{301}", "😀", "\u{feff}x"])
    func text(value: String) throws {
        let encoded = try Codec.text.encode(value)
        #expect(encoded == Array(value.utf8))
        #expect(try Array(Codec.text.decode(encoded).utf8) == encoded)
    }

    @Test(
        "bytes that are no UTF-8 are no text",
        arguments: [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]] as [[UInt8]]
    )
    func noText(bytes: [UInt8]) {
        #expect(failure { _ = try Codec.text.decode(bytes) }?.code == .codec)
    }

    @Test("Codable values as CBOR come back, and bytes that are none are a typed error")
    func cbor() throws {
        let codec = Codec<[String: [Int?]]>.cbor
        #expect(codec.identifier == 4)
        let value = ["b": [1, nil], "a": []]
        #expect(try codec.decode(codec.encode(value)) == value)
        let error = #expect(throws: CacheError.self) { try codec.decode([0xff]) }
        #expect(error?.code == .codec)
        #expect(error?.causes.count == 1)
    }

    @Test("what no CBOR decoder would take for its many elements is not written")
    func cborElements() throws {
        let codec = Codec<[Bool]>.cbor
        let most = [Bool](repeating: true, count: 1 << 23)
        let bytes = try codec.encode(most)
        #expect(bytes.count == most.count + 5)
        let error = #expect(throws: CacheError.self) { try codec.encode(most + [true]) }
        #expect(error?.code == .codec)
    }

    @Test("Codable values come back equal from JSON")
    func json() throws {
        let codec = Codec<Product>.json
        #expect(try codec.decode(codec.encode(Self.product)) == Self.product)
        #expect(try Codec<Int>.json.decode(Codec<Int>.json.encode(.min)) == .min)
        #expect(try Codec<UInt64>.json.decode(Codec<UInt64>.json.encode(.max)) == .max)
        #expect(try Codec<String>.json.decode(Codec<String>.json.encode("\u{2028}\"\\")) == "\u{2028}\"\\")
        #expect(try Codec<[Int]>.json.decode(Codec<[Int]>.json.encode([])) == [])
        #expect(try Codec<Int?>.json.decode(Codec<Int?>.json.encode(nil)) == nil)
    }

    @Test("JSON is stable and readable: sorted keys, slashes as they are, dates as seconds since 1970")
    func jsonForm() throws {
        var product = Self.product
        product.name = "a/b"
        let text = String(decoding: try Codec.json.encode(product), as: UTF8.self)
        #expect(
            text == #"{"madeAt":1700000000.25,"name":"a/b","parts":{"a":1,"b":2},"price":0.1,"tags":["a",""]}"#
        )
        for _ in 0..<20 { #expect(try Codec.json.encode(product) == Array(text.utf8)) }
    }

    @Test(
        "bytes that are no JSON of the type are a typed error with its cause",
        arguments: ["", " ", "{", "nul", "[1,", "\"", "{\"name\":1}", "{}", "\u{0}", "1 2", "1e999", "\"\\ud800\""]
    )
    func noJSON(text: String) {
        let failure = failure { _ = try Codec<Product>.json.decode(Array(text.utf8)) }
        #expect(failure?.code == .codec)
        #expect(failure?.causes.count == 1)
    }

    @Test("JSON that is nested a hundred thousand deep is an error, not a stack overflow")
    func deepJSON() {
        for opening in ["[", "{\"a\":"] {
            let deep = Array(String(repeating: opening, count: 100_000).utf8)
            #expect(failure { _ = try Codec<[Int]>.json.decode(deep) }?.code == .codec)
        }
    }

    @Test("a value that JSON cannot express is a typed error")
    func notEncodable() {
        #expect(failure { _ = try Codec<Double>.json.encode(.nan) }?.code == .codec)
        #expect(failure { _ = try Codec<[Double]>.json.encode([.infinity]) }?.code == .codec)
    }

    @Test("the errors of closures are causes, and neither value nor bytes stand in the description")
    func ownErrors() {
        struct Refusal: Error, Equatable { let text: String }
        let codec = Codec<String>(identifier: 200) {
            throw Refusal(text: $0)
        } decode: { _ in
            throw Refusal(text: "in")
        }
        #expect(codec.identifier == 200)
        let encoding = failure { _ = try codec.encode("top secret") }
        #expect(encoding?.code == .codec)
        #expect(encoding?.causes.first as? Refusal == Refusal(text: "top secret"))
        #expect(encoding?.description.contains("secret") == false)
        let decoding = failure { _ = try codec.decode(Array("top secret".utf8)) }
        #expect(decoding?.code == .codec)
        #expect(decoding?.causes.first as? Refusal == Refusal(text: "in"))
        #expect(decoding?.description.contains("secret") == false)
    }
}
