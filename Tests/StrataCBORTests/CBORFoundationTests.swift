import StrataCBOR
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("CBOR: dates, data, URLs, UUIDs and decimal numbers")
struct CBORFoundationTests {
    private let decoder = CBORDecoder()

    @Test(
        "a date is seconds since 1970 in tag 1",
        arguments: [
            (1_363_896_240.0, "c11a514b67b0"), (1_363_896_240.5, "c1fb41d452d9ec200000"), (0, "c100"), (-1, "c120"),
            (-0.5, "c1f9b800"),
            (-62_135_596_800, "c13b0000000e7791f6ff"), (.infinity, "c1f97c00"),
        ]
    )
    func epochDates(seconds: Double, bytes: String) throws {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(try hex(CBOREncoder().encode(date)) == bytes)
        try expectRoundTrip(date)
        try expectRoundTrip(["at": [date]])
    }

    @Test("a document in data, and in a part of it")
    func documentInData() throws {
        let bytes = try CBOREncoder().encode(["a": 1])
        #expect(try decoder.decode([String: Int].self, from: Data(bytes)) == ["a": 1])
        let part = Data([0] + bytes + [0])[1...].dropLast()
        #expect(try decoder.decode([String: Int].self, from: part) == ["a": 1])
        #expect(throws: CBORError.self) { try decoder.decode([String: Int].self, from: Data()) }
    }

    @Test("dates come back to the last bit")
    func exactDates() throws {
        var random = SplitMix64.printed("exactDates")
        var extended = 0
        for index in 0..<400 {
            // Half of the dates of our days have a bit more than seconds since 1970 can hold.
            let range = index.isMultiple(of: 2) ? 700_000_000.0...900_000_000 : -1_000_000_000...1_000_000_000
            let date = Date(timeIntervalSinceReferenceDate: .random(in: range, using: &random))
            let bytes = try CBOREncoder().encode(date)
            if bytes.starts(with: [0xD9, 0x03, 0xE9, 0xA2]) { extended += 1 }
            #expect(try decoder.decode(Date.self, from: bytes) == date)
        }
        #expect(extended > 50)
        for seconds in [0.5, 1.000_000_000_1, -7.123_456_789_012, 86_400.000_000_000_02, -5_000_000.000_000_000_9] {
            try expectRoundTrip(Date(timeIntervalSinceReferenceDate: seconds))
        }
        let milliseconds = try CBOREncoder().encode(Date(timeIntervalSinceReferenceDate: 780_000_042.123))
        #expect(hex(milliseconds) == "d903e9a2011a68cda3aa22187b")
        try expectRoundTrip(Date())
        try expectRoundTrip(Date.distantPast)
        try expectRoundTrip(Date.distantFuture)
        try expectRoundTrip(Date(timeIntervalSinceReferenceDate: 785_000_000.123_456_7))
    }

    @Test(
        "dates as text in tag 0",
        arguments: [
            ("2013-03-21T20:04:00Z", 1_363_896_240.0), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.5Z", -0.5),
            ("0000-01-01T00:00:00Z", -62_167_219_200),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("2024-02-29T12:30:45.25Z", 1_709_209_845.25),
            ("2000-03-01T00:00:00Z", 951_868_800),
        ]
    )
    func textDates(text: String, seconds: Double) throws {
        var encoder = CBOREncoder()
        encoder.dateFormat = .text
        let date = Date(timeIntervalSince1970: seconds)
        let bytes = try encoder.encode(date)
        #expect(try CBORValue(decoding: bytes) == .tagged(0, .text(text)))
        #expect(try decoder.decode(Date.self, from: bytes) == date)
        #expect(try decoder.decode(Date.self, from: CBOREncoder().encode(text)) == date)
    }

    @Test("text of a date keeps nanoseconds, and what has no text is refused")
    func textDateLimits() throws {
        var encoder = CBOREncoder()
        encoder.dateFormat = .text
        var random = SplitMix64.printed("textDateLimits")
        for _ in 0..<100 {
            let date = Date(timeIntervalSinceReferenceDate: .random(in: 100_000_000...900_000_000, using: &random))
            #expect(try decoder.decode(Date.self, from: encoder.encode(date)) == date)
        }
        // Nearer to the next second than to any nanosecond before it.
        let late = Date(timeIntervalSinceReferenceDate: 0.999_999_999_9)
        #expect(try CBORValue(decoding: encoder.encode(late)) == .tagged(0, .text("2001-01-01T00:00:01Z")))
        for seconds in [-62_167_219_201, 253_402_300_800, .infinity, .nan, 1e300] {
            #expect(throws: EncodingError.self) { try encoder.encode([Date(timeIntervalSince1970: seconds)]) }
        }
    }

    @Test("text of a date with an offset, in any case the RFC allows; what is no date is refused")
    func otherTexts() throws {
        func date(_ text: String) throws -> Date {
            try decoder.decode(Date.self, from: CBOREncoder().encode(text))
        }
        let expected = Date(timeIntervalSince1970: 1_363_896_240)
        for text in [
            "2013-03-21T21:04:00+01:00", "2013-03-21 14:34:00-05:30", "2013-03-21t20:04:00z", "2013-03-21T20:03:60Z",
            "2013-03-21T20:04:00.0000000000000001Z",
        ] {
            #expect(try date(text) == expected)
        }
        for text in [
            "", "2013", "2013-03-21", "2013-03-21T20:04Z", "2013-03-21T20:04:00", "2013-13-21T20:04:00Z",
            "2013-02-29T20:04:00Z", "1900-02-29T00:00:00Z",
            "2013-03-00T20:04:00Z", "2013-03-21T24:04:00Z", "2013-03-21T20:60:00Z", "2013-03-21T20:04:61Z",
            "2013-03-21T20:04:00.Z", "2013-03-21T20:04:00Zz",
            "2013-03-21T20:04:00+24:00", "2013-03-21T20:04:00+0100", "x013-03-21T20:04:00Z", "+013-03-21T20:04:00Z",
        ] {
            #expect(throws: DecodingError.self) { try date(text) }
        }
    }

    @Test("dates that others write: extended time, other tags around; a bare number says too little")
    func otherDates() throws {
        func seconds(_ document: String) throws -> Double {
            try decoder.decode(Date.self, from: hex(document)).timeIntervalSince1970
        }
        #expect(try seconds("d903e9 a1 01 1a514b67b0") == 1_363_896_240)
        #expect(try seconds("d903e9 a2 01 1a514b67b0 22 1901f4") == 1_363_896_240.5)
        #expect(try seconds("d903e9 a2 25 1a0007a120 01 1a514b67b0") == 1_363_896_240.5)
        #expect(try seconds("d903e9 a2 01 fb41d452d9ec000000 28 1a1dcd6500") == 1_363_896_240.5)
        #expect(try seconds("d9d9f7 c1 d865 00") == 0)
        for document in [
            "00", "fb41d452d9ec000000", "d903e9 a0", "d903e9 80", "d903e9 a2 01 00 28 20", "c160", "c0 00", "f6", "a0",
        ] {
            #expect(throws: DecodingError.self) { try seconds(document) }
        }
        #expect(try decoder.decode([Date?].self, from: hex("81f6")) == [nil])
    }

    @Test("data and byte arrays")
    func bytes() throws {
        struct Both: Codable, Equatable {
            var data: Data
            var array: [UInt8]
        }
        let both = Both(data: Data([1, 255]), array: [1, 255])
        #expect(try hex(CBOREncoder().encode(both)) == "a264646174614201ff6561727261798201" + "18ff")
        try expectRoundTrip(both)
        try expectRoundTrip(Both(data: Data(), array: []))
        try expectRoundTrip(Data(repeating: 7, count: 70_000))
        var encoder = CBOREncoder()
        encoder.writesByteArraysAsByteStrings = true
        #expect(try hex(encoder.encode(both)) == "a264646174614201ff6561727261794201ff")
        try expectRoundTrip(both, encoder: encoder)
        try expectRoundTrip([[UInt8]](repeating: [1, 2, 3], count: 3), encoder: encoder)
        for document in [
            "4401020304", "5f 42 0102 40 42 0304 ff", "8401020304", "9f 01 02 03 04 ff", "d84044 01020304",
        ] {
            #expect(try decoder.decode(Data.self, from: hex(document)) == Data([1, 2, 3, 4]))
            #expect(try decoder.decode([UInt8].self, from: hex(document)) == [1, 2, 3, 4])
        }
        for document in ["6161", "00", "82 01 190100", "8120", "a0", "f6"] {
            #expect(throws: DecodingError.self) { try decoder.decode(Data.self, from: hex(document)) }
            #expect(throws: DecodingError.self) { try decoder.decode([UInt8].self, from: hex(document)) }
        }
    }

    @Test("URLs in tag 32 and UUIDs in tag 37")
    func identifiers() throws {
        let url = try #require(URL(string: "http://www.example.com"))
        #expect(try hex(CBOREncoder().encode(url)) == "d82076687474703a2f2f7777772e6578616d706c652e636f6d")
        try expectRoundTrip(["u": [url]])
        #expect(try decoder.decode(URL.self, from: CBOREncoder().encode("http://www.example.com")) == url)
        #expect(throws: DecodingError.self) { try decoder.decode(URL.self, from: hex("60")) }
        #expect(throws: DecodingError.self) { try decoder.decode(URL.self, from: hex("00")) }

        let uuid = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
        #expect(try hex(CBOREncoder().encode(uuid)) == "d82550000102030405060708090a0b0c0d0e0f")
        try expectRoundTrip([uuid: UUID()])
        #expect(try decoder.decode(UUID.self, from: hex("50000102030405060708090a0b0c0d0e0f")) == uuid)
        #expect(try decoder.decode(UUID.self, from: hex("5f 48 0001020304050607 48 08090a0b0c0d0e0f ff")) == uuid)
        #expect(try decoder.decode(UUID.self, from: CBOREncoder().encode(uuid.uuidString)) == uuid)
        for document in ["40", "51" + String(repeating: "00", count: 17), "6161", "00", "f6"] {
            #expect(throws: DecodingError.self) { try decoder.decode(UUID.self, from: hex(document)) }
        }
    }

    @Test(
        "decimal numbers are exponent and mantissa in tag 4",
        arguments: [
            ("273.15", "c48221196ab3"), ("0", "c4820000"), ("-0.1", "c4822020"), ("100", "c4820201"),
            ("-7", "c4820026"), ("1.10", "c482200b"),
            ("18446744073709551616", "c48200c249010000000000000000"),
            ("-18446744073709551617", "c48200c349010000000000000000"),
        ]
    )
    func decimals(text: String, bytes: String) throws {
        let value = try #require(Decimal(string: text))
        #expect(try hex(CBOREncoder().encode(value)) == bytes)
        try expectRoundTrip(value)
    }

    @Test("decimal numbers of every size come back")
    func allDecimals() throws {
        var random = SplitMix64.printed("allDecimals")
        for _ in 0..<200 {
            let digits = String(
                UInt128.random(in: 0...UInt128.max, using: &random) >> UInt128.random(in: 0..<128, using: &random)
            )
            let sign: FloatingPointSign = Bool.random(using: &random) ? .minus : .plus
            let significand = try #require(Decimal(string: digits))
            let value = Decimal(sign: sign, exponent: .random(in: -120...80, using: &random), significand: significand)
            let copy = try decoder.decode(Decimal.self, from: CBOREncoder().encode(value))
            #expect(copy == value)
        }
        try expectRoundTrip(Decimal.greatestFiniteMagnitude)
        try expectRoundTrip(Decimal(string: "10e127"))
        try expectRoundTrip(-Decimal.greatestFiniteMagnitude)
        try expectRoundTrip(Decimal.leastNonzeroMagnitude)
        #expect(try decoder.decode(Decimal.self, from: CBOREncoder().encode(Decimal.nan)).isNaN)
        try expectRoundTrip(["price": [Decimal(19.99)]])
    }

    @Test("decimal numbers that others write")
    func otherDecimals() throws {
        func decimal(_ document: String) throws -> Decimal { try decoder.decode(Decimal.self, from: hex(document)) }
        #expect(try decimal("05") == 5)
        #expect(try decimal("24") == -5)
        #expect(try decimal("f93e00") == 1.5)
        #expect(try decimal("c249010000000000000000") == Decimal(string: "18446744073709551616"))
        #expect(try decimal("63312e35") == 1.5)
        #expect(try decimal("652b2e356532") == 50)
        #expect(try decimal("65332e452d32") == Decimal(string: "0.03"))
        #expect(try decimal("d865 c4 9f 20 c2 41 0f ff") == 1.5)
        #expect(try decimal("c48218800a") == Decimal(string: "100e127"))
        #expect(try decimal("c4821881 01") == Decimal(string: "100e127"))
        #expect(try decimal("c482 387f 1864") == Decimal(string: "100e-128"))
        #expect(try decimal("c482 3881 1864") == Decimal(string: "1e-128"))
        for document in [
            "6161", "60", "80", "c480", "c48101", "c483010203", "c4826161 01", "c482 1b7fffffffffffffff 01",
            "c482 3b7fffffffffffffff 01", "c482190100 01",
            "c482 01 c2 51 0100000000000000000000000000000000", "c482 00 c3 50 ffffffffffffffffffffffffffffffff", "40",
            "f6", "f97c00", "f9fc00", "fa7f800000", "fb7ff0000000000000", "fbfff0000000000000", "fb7e37e43c8800759c",
            "fb01a56e1fc2f8f359", "6531392c3939", "653132616263", "62312d", "6145", "626535", "612e", "623165",
            "6331652b", "622031", "623120", "6330 7831",
        ] {
            #expect(throws: DecodingError.self) { try decimal(document) }
        }
    }
}
