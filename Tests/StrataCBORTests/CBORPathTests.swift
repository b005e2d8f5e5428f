import Testing

@testable import StrataCBOR

@Suite("CBOR: one part of a document")
struct CBORPathTests {
    private struct Order: Codable, Equatable {
        struct Line: Codable, Equatable {
            var title: String
            var cents: Int
        }

        var id: Int
        var customer: [String: String]
        var lines: [Line]
        var note: String?
    }

    private let order = Order(
        id: 7,
        customer: ["name": "Maria", "city": "Porto"],
        lines: (0..<30).map { Order.Line(title: "Article \($0)", cents: $0) },
        note: nil
    )
    private let decoder = CBORDecoder()

    @Test("is what decoding the whole has there")
    func parts() throws {
        let bytes = try CBOREncoder().encode(order)
        #expect(try decoder.select(Int.self, at: "id", from: bytes) == 7)
        #expect(try decoder.select(String.self, at: "customer", "name", from: bytes) == "Maria")
        #expect(try decoder.select(Order.Line.self, at: "lines", 29, from: bytes) == order.lines[29])
        #expect(try decoder.select([Order.Line].self, at: "lines", from: bytes) == order.lines)
        #expect(try decoder.decode(Order.self, from: bytes) == order)
        let key = "customer"
        #expect(try decoder.select([String: String].self, at: .key(key), from: bytes) == order.customer)
        #expect(try decoder.select(Int.self, at: "lines", .index(3), "cents", from: bytes) == 3)
    }

    @Test("is nil where the path leads to nothing, and a type that does not fit is an error")
    func nothing() throws {
        let bytes = try CBOREncoder().encode(order)
        #expect(try decoder.select(String.self, at: "note", from: bytes) == nil)
        #expect(try decoder.select(String.self, at: "lines", 30, "title", from: bytes) == nil)
        #expect(try decoder.select(String.self, at: "lines", -1, from: bytes) == nil)
        #expect(try decoder.select(String.self, at: "lines", "title", from: bytes) == nil)
        #expect(try decoder.select(String.self, at: "id", "x", from: bytes) == nil)
        #expect(throws: DecodingError.self) { try decoder.select(String.self, at: "id", from: bytes) }
    }

    @Test("is found through indefinite lengths, long heads and tags, and behind other keys")
    func otherForms() throws {
        // {_ 1: 0, "a": 55799([_ (_ "x", "y"), 2, 3]), "b" in nine bytes of head: {"c": 4}}
        let bytes: [UInt8] =
            [
                0xbf, 0x01, 0x00, 0x61, 0x61, 0xd9, 0xd9, 0xf7, 0x9f, 0x7f, 0x61, 0x78, 0x61, 0x79, 0xff, 0x02, 0x03,
                0xff,
            ]
            + [0x7b, 0, 0, 0, 0, 0, 0, 0, 1, 0x62, 0xa1, 0x61, 0x63, 0x04, 0xff]
        #expect(try decoder.select(Int.self, at: "a", 2, from: bytes) == 3)
        #expect(try decoder.select(String.self, at: "a", 0, from: bytes) == "xy")
        #expect(try decoder.select(Int.self, at: "b", "c", from: bytes) == 4)
        #expect(try decoder.select(Int.self, at: "c", from: bytes) == nil)
    }

    @Test("faults on the way are found, those behind the part are not looked for")
    func faults() throws {
        let bytes = try CBOREncoder().encode(order)
        for length in 0..<bytes.count {
            let part = Array(bytes.prefix(length))
            // It is the last in the document: nothing but the whole will do.
            #expect(throws: CBORError.self) { try decoder.select(String.self, at: "customer", "name", from: part) }
            do {
                #expect(
                    try decoder.select(String.self, at: "lines", 3, "title", from: part) == "Article 3",
                    "\(length)"
                )
            } catch {
                #expect(error is CBORError, "\(length)")
            }
        }
        #expect(throws: CBORError.self) { try decoder.select(Int.self, at: "a", from: [0xa1, 0x61, 0x62, 0xff, 0x00]) }
        #expect(throws: CBORError.self) {
            try decoder.select(Int.self, at: 5, from: [0x9b] + [UInt8](repeating: 0xff, count: 8))
        }
        let deep = [UInt8](repeating: 0x81, count: 200) + [0x00]
        #expect(throws: CBORError.self) { try decoder.select(Int.self, at: 1, from: [0x82] + deep + [0x00]) }
        #expect(throws: CBORError.self) {
            try decoder.select(Int.self, at: 1, from: [0x82] + [UInt8](repeating: 0xc1, count: 200) + [0x00, 0x00])
        }
        #expect(throws: CBORError.self) { try decoder.select(Int.self, at: "a", from: []) }
    }

    @Test("arbitrary bytes end in a value, in nothing, or in an error")
    func arbitrary() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("CBORPathTests.arbitrary: seed \(seed)")
        var state = seed
        func next() -> UInt8 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        let bytes = try CBOREncoder().encode(order)
        for _ in 0..<3_000 {
            var bytes = next() < 128 ? (0..<Int(next())).map { _ in next() } : bytes
            for _ in 0..<3 where !bytes.isEmpty { bytes[Int(next()) * Int(next()) % bytes.count] = next() }
            _ = try? decoder.select(Int.self, at: "lines", 7, "cents", from: bytes)
            _ = try? decoder.select(String.self, at: 0, "a", from: bytes)
        }
    }
}
