import StrataCBOR
import Testing

@Suite("CBOR: values come back as they went in")
struct CBORRoundTripTests {
    struct Widths: Codable, Equatable {
        var bool = true
        var int = Int.min
        var int8 = Int8.min
        var int16 = Int16.max
        var int32 = Int32.min
        var int64 = Int64.max
        var int128 = Int128.min
        var uint = UInt.max
        var uint8 = UInt8.max
        var uint16 = UInt16.max
        var uint32 = UInt32.max
        var uint64 = UInt64.max
        var uint128 = UInt128.max
        var float = Float.pi
        var double = Double.pi
        var string = "Größe 水 \u{10151}"
    }

    struct Missing: Codable, Equatable {
        var bool: Bool?
        var int: Int?
        var int8: Int8?
        var int16: Int16?
        var int32: Int32?
        var int64: Int64?
        var int128: Int128?
        var uint: UInt?
        var uint8: UInt8?
        var uint16: UInt16?
        var uint32: UInt32?
        var uint64: UInt64?
        var uint128: UInt128?
        var float: Float?
        var double: Double?
        var string: String?
        var list: [Int]?
        var nested: Widths?
    }

    @Test("a struct with every width")
    func widths() throws {
        try expectRoundTrip(Widths())
        try expectRoundTrip([Widths(), Widths(bool: false, int: 0, uint128: 1)])
    }

    @Test("optionals, missing and present")
    func optionals() throws {
        try expectRoundTrip(Missing())
        #expect(try CBOREncoder().encode(Missing()) == [0xA0])
        let full = Missing(
            bool: false,
            int: 1,
            int8: -2,
            int16: 3,
            int32: -4,
            int64: 5,
            int128: -6,
            uint: 7,
            uint8: 8,
            uint16: 9,
            uint32: 10,
            uint64: 11,
            uint128: 12,
            float: 13.5,
            double: 14.1,
            string: "",
            list: [],
            nested: Widths()
        )
        try expectRoundTrip(full)
        try expectRoundTrip([1, nil, 3] as [Int?])
        try expectRoundTrip(["a": nil, "b": 2] as [String: Int?])
        try expectRoundTrip([[1, nil], nil] as [[Int?]?])
        let nested: Int?? = .some(.some(5))
        #expect(try CBORDecoder().decode(Int??.self, from: CBOREncoder().encode(nested)) == nested)
    }

    @Test("an explicit null reads as nil, and so does undefined")
    func explicitNull() throws {
        let document = hex("a2 64626f6f6c f6 63696e74 f7")
        #expect(try CBORDecoder().decode(Missing.self, from: document) == Missing())
    }

    @Test("integers of every width, at every boundary of the head")
    func integers() throws {
        let edges: [Int128] = [0, 23, 24, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296]
        for edge in edges + edges.map({ -1 - $0 }) + [Int128(Int64.max), Int128(Int64.min), .max, .min] {
            try expectRoundTrip(edge)
            try expectEqualIfFitting(edge, Int.self)
            try expectEqualIfFitting(edge, Int8.self)
            try expectEqualIfFitting(edge, Int16.self)
            try expectEqualIfFitting(edge, Int32.self)
            try expectEqualIfFitting(edge, Int64.self)
            try expectEqualIfFitting(edge, UInt.self)
            try expectEqualIfFitting(edge, UInt8.self)
            try expectEqualIfFitting(edge, UInt16.self)
            try expectEqualIfFitting(edge, UInt32.self)
            try expectEqualIfFitting(edge, UInt64.self)
            try expectEqualIfFitting(edge, UInt128.self)
        }
    }

    private func expectEqualIfFitting<Number: FixedWidthInteger & Codable>(_ value: Int128, _ type: Number.Type) throws
    {
        let bytes = try CBOREncoder().encode(value)
        guard let fitting = Number(exactly: value) else {
            #expect(throws: DecodingError.self) { try CBORDecoder().decode(type, from: bytes) }
            #expect(throws: DecodingError.self) { try CBORDecoder().decode([Number].self, from: [0x81] + bytes) }
            return
        }
        #expect(try CBOREncoder().encode(fitting) == bytes)
        #expect(try CBORDecoder().decode(type, from: bytes) == fitting)
        #expect(try CBORDecoder().decode([Number].self, from: [0x81] + bytes) == [fitting])
    }

    @Test("floating-point numbers, infinities and NaN included")
    func floatingPoint() throws {
        for value in [
            0, -0.0, 1, -1.5, 0.1, .pi, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
        ] {
            let copy = try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(value))
            #expect(copy.bitPattern == value.bitPattern)
        }
        #expect(try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(Double.nan)).isNaN)
        #expect(try CBORDecoder().decode(Float.self, from: CBOREncoder().encode(Float.nan)).isNaN)
        try expectRoundTrip([Float.leastNonzeroMagnitude, .greatestFiniteMagnitude, -.infinity, 0.1])
        #if !(os(macOS) && arch(x86_64))
        try expectRoundTrip([Float16.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1.5])
        #endif
    }

    @Test("collections by every kind of key")
    func collections() throws {
        enum Size: String, Codable, CodingKeyRepresentable { case small, large }
        enum Level: Int, Codable { case low = 1, high = 2 }
        try expectRoundTrip([String: [String]]())
        try expectRoundTrip(["": 1, "a": 2, String(repeating: "k", count: 300): 3])
        try expectRoundTrip(["x": 1.5, "y": -0.1])
        try expectRoundTrip(["x": "1", "y": ""])
        try expectRoundTrip([1: "one", -7: "minus seven", Int.max: "much"])
        try expectRoundTrip([Size.small: 1, .large: 2])
        try expectRoundTrip([Level.low: "a", .high: "b"])
        try expectRoundTrip([Int8(3): [true], -4: []])
        try expectRoundTrip([[1, 2]: "list as key"])
        try expectRoundTrip(Set(["a", "b", "c"]))
        try expectRoundTrip([[[["deep"]]], []])
        try expectRoundTrip([UInt8]((0...255)))
        try expectRoundTrip([true, false])
        try expectRoundTrip([1.5, 2])
        try expectRoundTrip(1..<5)
    }

    @Test("top-level values of every kind")
    func topLevel() throws {
        try expectRoundTrip(5)
        try expectRoundTrip("text")
        try expectRoundTrip(true)
        try expectRoundTrip(1.25)
        try expectRoundTrip([Int]())
        try expectRoundTrip(Int?.none)
        try expectRoundTrip(Int?.some(3))
    }

    @Test("long strings and many elements", arguments: [22, 23, 24, 255, 256, 65_535, 65_536, 70_000])
    func lengths(count: Int) throws {
        try expectRoundTrip(String(repeating: "é", count: count))
        try expectRoundTrip(String(repeating: "a", count: count))
        try expectRoundTrip(Array(0..<count))
        try expectRoundTrip([[Int]](repeating: [7], count: count))
        try expectRoundTrip(Dictionary(uniqueKeysWithValues: (0..<min(count, 5000)).map { ("key \($0)", [$0]) }))
    }

    @Test("bytes appended behind a header, and none if encoding fails")
    func appending() throws {
        var bytes: [UInt8] = [1, 2, 3]
        try CBOREncoder().encode("a", appendingTo: &bytes)
        #expect(bytes == [1, 2, 3, 0x61, 0x61])
        #expect(throws: EncodingError.self) { try CBOREncoder().encode(Nothing(), appendingTo: &bytes) }
        #expect(bytes == [1, 2, 3, 0x61, 0x61])
    }

    private struct Nothing: Encodable {
        func encode(to encoder: any Encoder) throws {}
    }

    @Test("decoding from a span and from borrowed memory")
    func otherInputs() throws {
        let bytes = try CBOREncoder().encode(["a": [1, 2]])
        let fromMemory = unsafe try bytes.withUnsafeBytes {
            unsafe try CBORDecoder().decode([String: [Int]].self, from: $0)
        }
        #expect(fromMemory == ["a": [1, 2]])
        let fromSpan = unsafe try CBORDecoder().decode([String: [Int]].self, from: bytes.span.bytes)
        #expect(fromSpan == ["a": [1, 2]])
    }
}
