import Foundation
import Strata
import Testing

@Suite("Property lists from others", .timeLimit(.minutes(5)))
struct PropertyListTests {
    /// A binary property list of these objects, the first at the top.
    private func list(_ objects: [[UInt8]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += [UInt8(offset >> 8 & 0xff), UInt8(offset & 0xff)] }
        bytes += [0, 0, 0, 0, 0, 0, 2, 2]
        for number in [objects.count, 0, table] { bytes += (0..<8).map { UInt8(number >> (56 - 8 * $0) & 0xff) } }
        return bytes
    }

    /// An array of so many references to one object.
    private func array(of object: Int, _ count: Int) -> [UInt8] {
        [0xaf, 0x11, UInt8(count >> 8), UInt8(count & 0xff)]
            + (0..<count).flatMap { _ in [UInt8(object >> 8), UInt8(object & 0xff)] }
    }

    @Test("sixteen kilobytes that stand for ten thousand million numbers are refused")
    func shared() {
        let bomb = list([array(of: 1, 2_600), array(of: 2, 2_600), array(of: 3, 2_600), [0x10, 7]])
        #expect(bomb.count < 16_384)
        #expect(throws: CacheError.self) { try Codec<[[[Int]]]>.propertyList.decode(bomb) }
    }

    @Test("a text that is referred to again and again is refused before it is made of that size")
    func sharedText() {
        let size = 60_000
        let text = [0x6f, 0x12, 0, 0, UInt8(size >> 8), UInt8(size & 0xff)] + [UInt8](repeating: 0x20, count: 2 * size)
        let bomb = list([array(of: 1, 20_000), Array(text)])
        #expect(throws: CacheError.self) { try Codec<[String]>.propertyList.decode(bomb) }
    }

    @Test("one that contains itself, is nested too deeply, cut or damaged is refused")
    func damaged() throws {
        #expect(throws: CacheError.self) { try Codec<[[Int]]>.propertyList.decode(list([array(of: 0, 1)])) }
        let deep = list((0..<2_000).map { array(of: $0 + 1, 1) } + [[0xa0]])
        #expect(throws: CacheError.self) { try Codec<[[Int]]>.propertyList.decode(deep) }
        let whole = try Codec<[String: [Int]]>.propertyList.encode(["a": [1, 2, 3], "b": []])
        for end in 0..<whole.count {
            #expect(throws: CacheError.self) {
                try Codec<[String: [Int]]>.propertyList.decode(Array(whole[..<end]))
            }
        }
        for index in whole.indices {
            for value: UInt8 in [0, 1, 0x0f, 0x7f, 0x80, 0xff] {
                var bytes = whole
                bytes[index] = value
                _ = try? Codec<[String: [Int]]>.propertyList.decode(bytes)
            }
        }
        for text in ["<?xml version=\"1.0\"?><plist><array/></plist>", "(((((((", "{ a = b; }"] {
            #expect(throws: CacheError.self) { try Codec<[String]>.propertyList.decode(Array(text.utf8)) }
        }
    }

    private struct Everything: Codable, Equatable, Sendable {
        var text = "ä\u{1f600}", number = -7, large = UInt64.max >> 1, real = 1.5, flag = true
        var date = Date(timeIntervalSince1970: 1), data = Data([1, 2, 3])
        var list = Array(repeating: "the same", count: 5_000)
        var nested = ["a": [["b": 1]], "c": []]
    }

    @Test("what Foundation writes is read, also what repeats itself")
    func honest() throws {
        let codec = Codec<Everything>.propertyList
        #expect(try codec.decode(codec.encode(Everything())) == Everything())
        let many = (0..<20_000).map { "\($0 % 50)" }
        #expect(try Codec<[String]>.propertyList.decode(Codec<[String]>.propertyList.encode(many)) == many)
    }

    private indirect enum Nested: Codable, Sendable {
        case end
        case inner(Nested)

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            self = list.isAtEnd ? .end : .inner(try list.decode(Nested.self))
        }

        func encode(to encoder: any Encoder) throws {}
    }

    @Test("JSON and CBOR nested a hundred thousand deep are refused")
    func deep() {
        let json =
            Array(String(repeating: "[", count: 100_000).utf8) + Array(String(repeating: "]", count: 100_000).utf8)
        #expect(throws: CacheError.self) { try Codec<Nested>.json.decode(json) }
        let cbor = [UInt8](repeating: 0x81, count: 100_000) + [0x80]
        #expect(throws: CacheError.self) { try Codec<Nested>.cbor.decode(cbor) }
    }
}
