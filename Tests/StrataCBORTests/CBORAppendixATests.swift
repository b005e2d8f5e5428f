import StrataCBOR
import Testing

/// The examples of RFC 8949 appendix A, all of them.
@Suite("CBOR: RFC 8949 appendix A")
struct CBORAppendixATests {
    /// One line of the appendix.
    struct Example: Sendable, CustomTestStringConvertible {
        let bytes: String
        let value: CBORValue
        /// Whether the bytes are what a deterministic encoder makes of the value.
        let isDeterministic: Bool

        init(_ bytes: String, _ value: CBORValue, isDeterministic: Bool = true) {
            self.bytes = bytes
            self.value = value
            self.isDeterministic = isDeterministic
        }

        var testDescription: String { bytes }
    }

    @Test("decodes", arguments: examples)
    func decodes(_ example: Example) throws {
        let value = try CBORValue(decoding: hex(example.bytes))
        // Two NaNs are never equal, but look alike.
        #expect(value == example.value || "\(value)" == "\(example.value)")
        if case .float(let number) = value, case .float(let expected) = example.value {
            #expect(number.sign == expected.sign)
        }
    }

    @Test("encodes", arguments: examples.filter(\.isDeterministic))
    func encodes(_ example: Example) throws {
        #expect(try hex(example.value.encoded()) == example.bytes)
    }

    private static func unsigned(_ numbers: ClosedRange<UInt64>) -> CBORValue {
        .array(numbers.map { .unsigned($0) })
    }

    private static let nested = CBORValue.array([.unsigned(1), unsigned(2...3), unsigned(4...5)])
    private static let long = unsigned(1...25)
    private static let numberAndList = CBORValue.map([
        .init(.text("a"), .unsigned(1)), .init(.text("b"), unsigned(2...3)),
    ])
    private static let textAndMap = CBORValue.array([.text("a"), .map([.init(.text("b"), .text("c"))])])
    private static let letters = CBORValue.map([
        .init(.text("a"), .text("A")), .init(.text("b"), .text("B")), .init(.text("c"), .text("C")),
        .init(.text("d"), .text("D")), .init(.text("e"), .text("E")),
    ])
    private static let fun = CBORValue.map([
        .init(.text("Fun"), .bool(true)), .init(.text("Amt"), .negative(1)),
    ])

    static let examples: [Example] = [
        Example("00", .unsigned(0)),
        Example("01", .unsigned(1)),
        Example("0a", .unsigned(10)),
        Example("17", .unsigned(23)),
        Example("1818", .unsigned(24)),
        Example("1819", .unsigned(25)),
        Example("1864", .unsigned(100)),
        Example("1903e8", .unsigned(1000)),
        Example("1a000f4240", .unsigned(1_000_000)),
        Example("1b000000e8d4a51000", .unsigned(1_000_000_000_000)),
        Example("1bffffffffffffffff", .unsigned(18_446_744_073_709_551_615)),
        Example("c249010000000000000000", .tagged(2, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        Example("3bffffffffffffffff", .negative(18_446_744_073_709_551_615)),
        Example("c349010000000000000000", .tagged(3, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        Example("20", .negative(0)),
        Example("29", .negative(9)),
        Example("3863", .negative(99)),
        Example("3903e7", .negative(999)),
        Example("f90000", .float(0.0)),
        Example("f98000", .float(-0.0)),
        Example("f93c00", .float(1.0)),
        Example("fb3ff199999999999a", .float(1.1)),
        Example("f93e00", .float(1.5)),
        Example("f97bff", .float(65504.0)),
        Example("fa47c35000", .float(100_000.0)),
        Example("fa7f7fffff", .float(3.4028234663852886e+38)),
        Example("fb7e37e43c8800759c", .float(1.0e+300)),
        Example("f90001", .float(5.960464477539063e-8)),
        Example("f90400", .float(0.00006103515625)),
        Example("f9c400", .float(-4.0)),
        Example("fbc010666666666666", .float(-4.1)),
        Example("f97c00", .float(.infinity)),
        Example("f97e00", .float(.nan)),
        Example("f9fc00", .float(-.infinity)),
        Example("fa7f800000", .float(.infinity), isDeterministic: false),
        Example("fa7fc00000", .float(.nan), isDeterministic: false),
        Example("faff800000", .float(-.infinity), isDeterministic: false),
        Example("fb7ff0000000000000", .float(.infinity), isDeterministic: false),
        Example("fb7ff8000000000000", .float(.nan), isDeterministic: false),
        Example("fbfff0000000000000", .float(-.infinity), isDeterministic: false),
        Example("f4", .bool(false)),
        Example("f5", .bool(true)),
        Example("f6", .null),
        Example("f7", .undefined),
        Example("f0", .simple(16)),
        Example("f8ff", .simple(255)),
        Example("c074323031332d30332d32315432303a30343a30305a", .tagged(0, .text("2013-03-21T20:04:00Z"))),
        Example("c11a514b67b0", .tagged(1, .unsigned(1_363_896_240))),
        Example("c1fb41d452d9ec200000", .tagged(1, .float(1_363_896_240.5))),
        Example("d74401020304", .tagged(23, .bytes([1, 2, 3, 4]))),
        Example("d818456449455446", .tagged(24, .bytes([0x64, 0x49, 0x45, 0x54, 0x46]))),
        Example("d82076687474703a2f2f7777772e6578616d706c652e636f6d", .tagged(32, .text("http://www.example.com"))),
        Example("40", .bytes([])),
        Example("4401020304", .bytes([1, 2, 3, 4])),
        Example("60", .text("")),
        Example("6161", .text("a")),
        Example("6449455446", .text("IETF")),
        Example("62225c", .text("\"\\")),
        Example("62c3bc", .text("\u{FC}")),
        Example("63e6b0b4", .text("\u{6C34}")),
        Example("64f0908591", .text("\u{10151}")),
        Example("80", .array([])),
        Example("83010203", unsigned(1...3)),
        Example("8301820203820405", nested),
        Example("98190102030405060708090a0b0c0d0e0f101112131415161718181819", long),
        Example("a0", .map([])),
        Example("a201020304", .map([.init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .unsigned(4))])),
        Example("a26161016162820203", numberAndList),
        Example("826161a161626163", textAndMap),
        Example("a56161614161626142616361436164614461656145", letters),
        Example("5f42010243030405ff", .bytes([1, 2, 3, 4, 5]), isDeterministic: false),
        Example("7f657374726561646d696e67ff", .text("streaming"), isDeterministic: false),
        Example("9fff", .array([]), isDeterministic: false),
        Example("9f018202039f0405ffff", nested, isDeterministic: false),
        Example("9f01820203820405ff", nested, isDeterministic: false),
        Example("83018202039f0405ff", nested, isDeterministic: false),
        Example("83019f0203ff820405", nested, isDeterministic: false),
        Example("9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", long, isDeterministic: false),
        Example("bf61610161629f0203ffff", numberAndList, isDeterministic: false),
        Example("826161bf61626163ff", textAndMap, isDeterministic: false),
        Example("bf6346756ef563416d7421ff", fun, isDeterministic: false),
    ]
}
