import Foundation
import Strata
import StrataTestSupport
import Testing

/// The transformers that come with the library.
@Suite("Transformers out of the box")
struct BuiltInTransformerTests {
    struct Product: Codable, Equatable, Sendable {
        var name: String
        var parts: [Int]
    }

    private static let product = Product(name: "kettle", parts: [1, 2])

    @Test("A128 UTF-8 and text, both ways; what is no text is a typed error")
    func utf8() async throws {
        let text = TwoWayTransformer<[UInt8], String>.text()
        #expect(try await text.transform(Array("grüße 😀".utf8)) == "grüße 😀")
        #expect(try await text.inverseTransform("grüße 😀") == Array("grüße 😀".utf8))
        for bytes in [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]] as [[UInt8]] {
            #expect(await errorCode { _ = try await text.transform(bytes) } == .codec)
        }
    }

    @Test("A128 other encodings agree with Foundation's, and refuse what they cannot express")
    func encodings() async throws {
        let pairs: [(TextEncoding, String.Encoding, String)] = [
            (.ascii, .ascii, "plain ~\0"),
            (.latin1, .isoLatin1, "grüße ÿ\u{80}"),
            (.utf16BigEndian, .utf16BigEndian, "grüße 😀"),
            (.utf16LittleEndian, .utf16LittleEndian, "grüße 😀"),
        ]
        for (encoding, foundation, text) in pairs {
            let bytes = try #require(text.data(using: foundation))
            #expect(try encoding.encode(text) == Array(bytes), "\(encoding)")
            #expect(try encoding.decode(Array(bytes)) == text, "\(encoding)")
        }
        #expect(try TextEncoding.utf16.encode("a") == [0xfe, 0xff, 0, 0x61])
        #expect(try TextEncoding.utf16.decode([0xff, 0xfe, 0x61, 0]) == "a")
        #expect(try TextEncoding.utf16.decode([0, 0x61]) == "a")
        #expect(await errorCode { _ = try TextEncoding.ascii.encode("ü") } == .codec)
        #expect(await errorCode { _ = try TextEncoding.ascii.decode([0x80]) } == .codec)
        #expect(await errorCode { _ = try TextEncoding.latin1.encode("€") } == .codec)
        #expect(await errorCode { _ = try TextEncoding.utf16.decode([0x61]) } == .codec)
        #expect(await errorCode { _ = try TextEncoding.utf16.decode([0xd8, 0, 0, 0x61]) } == .codec)
    }

    @Test("A129 JSON: arrays, objects and fragments as the platform's encoder writes them; invalid JSON is an error")
    func json() async throws {
        let products = TwoWayTransformer<[UInt8], [Product]>.json
        let bytes = try await products.inverseTransform([Self.product])
        #expect(String(decoding: bytes, as: UTF8.self) == #"[{"name":"kettle","parts":[1,2]}]"#)
        #expect(try await products.transform(bytes) == [Self.product])
        #expect(try await TwoWayTransformer<[UInt8], Int>.json.transform(Array(" 42 ".utf8)) == 42)
        for text in ["", "[", "{\"name\":1}", "nul", "[1,]"] {
            let error = await #expect(throws: CacheError.self) { try await products.transform(Array(text.utf8)) }
            #expect(error?.code == .codec)
            #expect(error?.causes.first is DecodingError)
        }
    }

    @Test("A130 what JSON cannot express is a typed error")
    func notJSON() async throws {
        let numbers = TwoWayTransformer<[UInt8], Double>.json
        let error = await #expect(throws: CacheError.self) { try await numbers.inverseTransform(.nan) }
        #expect(error?.code == .codec)
        #expect(error?.causes.first is EncodingError)
    }

    @Test("A133 every codec decodes what it encoded, and refuses bytes that it did not")
    func codecs() async throws {
        for codec in [.json, .cbor, .propertyList] as [Codec<Product>] {
            let transformer = TwoWayTransformer(codec)
            let bytes = try await transformer.inverseTransform(Self.product)
            #expect(try await transformer.transform(bytes) == Self.product)
            #expect(await errorCode { _ = try await transformer.transform(Array(bytes.dropLast(3))) } == .codec)
            #expect(await errorCode { _ = try await transformer.transform([]) } == .codec)
        }
    }

    @Test("the transformers with the names of codecs read and write as those codecs do")
    func named() async throws {
        let pairs: [(TwoWayTransformer<[UInt8], Product>, Codec<Product>)] = [
            (.json, .json), (.cbor, .cbor), (.propertyList, .propertyList),
        ]
        for (transformer, codec) in pairs {
            #expect(try await codec.decode(transformer.inverseTransform(Self.product)) == Self.product)
            #expect(try await transformer.transform(codec.encode(Self.product)) == Self.product)
        }
    }

    @Test("a binary property list is one, with data and dates as such; hostile ones are errors")
    func propertyList() throws {
        struct Record: Codable, Equatable, Sendable {
            var data: Data
            var date: Date
        }
        let record = Record(data: Data([1, 2, 3]), date: Date(timeIntervalSince1970: 1_700_000_000))
        let codec = Codec<Record>.propertyList
        #expect(codec.identifier == 5)
        let bytes = try codec.encode(record)
        #expect(bytes.starts(with: Array("bplist00".utf8)))
        #expect(try codec.decode(bytes) == record)
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] = 0xff
            // Some other record or an error, and never a trap.
            _ = try? codec.decode(damaged)
        }
    }

    @Test("A131 date and number styles follow their rules both ways, and fail for what they cannot read")
    func styles() async throws {
        let date = TwoWayTransformer<Date, String>.iso8601
        #expect(try await date.transform(Date(timeIntervalSince1970: 1_700_000_000)) == "2023-11-14T22:13:20Z")
        #expect(try await date.inverseTransform("2023-11-14T22:13:20Z") == Date(timeIntervalSince1970: 1_700_000_000))
        await #expect(throws: (any Error).self) { try await date.inverseTransform("yesterday") }
        let day = TwoWayTransformer(Date.ISO8601FormatStyle().year().month().day())
        #expect(try await day.transform(Date(timeIntervalSince1970: 1_700_000_000)) == "2023-11-14")
        let style = FloatingPointFormatStyle<Double>(locale: Locale(identifier: "de_DE")).precision(.fractionLength(2))
        let number = TwoWayTransformer(style)
        #expect(try await number.transform(1234.5) == "1.234,50")
        #expect(try await number.inverseTransform("1.234,50") == 1234.5)
        await #expect(throws: (any Error).self) { try await number.inverseTransform("viel") }
    }

    @Test("A131 numbers as Swift writes them")
    func lossless() async throws {
        let number = TwoWayTransformer<Int, String>.lossless
        #expect(try await number.transform(-42) == "-42")
        #expect(try await number.inverseTransform("-42") == -42)
        #expect(await errorCode { _ = try await number.inverseTransform("4.2") } == .codec)
    }
}
