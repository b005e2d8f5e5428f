import Testing

@testable import StrataRedis

@Suite("What a reply offers")
struct RESPValueTests {
    @Test("the bytes of a bulk string or a status, of nothing else")
    func bytes() {
        #expect(RESPValue.bytes([0, 0xff]).bytes == [0, 0xff])
        #expect(RESPValue.status("OK").bytes == [0x4f, 0x4b])
        for other in [RESPValue.null, .integer(1), .array([]), .error("ERR")] { #expect(other.bytes == nil) }
    }

    @Test("text, repaired where it is no UTF-8")
    func string() {
        #expect(RESPValue.bytes(Array("é".utf8)).string == "é")
        #expect(RESPValue.bytes([0x61, 0xff]).string == "a\u{fffd}")
        #expect(RESPValue.status("OK").string == "OK")
        #expect(RESPValue.integer(-7).string == "-7")
        for other in [RESPValue.null, .array([]), .error("ERR")] { #expect(other.string == nil) }
    }

    @Test("an integer, also from decimal text, never from anything else")
    func integer() {
        #expect(RESPValue.integer(.min).integer == .min)
        #expect(RESPValue.bytes(Array("9223372036854775807".utf8)).integer == .max)
        for text in ["", " 1", "1 ", "9223372036854775808", "1.0", "0x1", "\u{661}"] {
            #expect(RESPValue.bytes(Array(text.utf8)).integer == nil, "\(text)")
        }
        for other in [RESPValue.null, .status("1"), .array([]), .error("ERR")] { #expect(other.integer == nil) }
    }

    @Test("elements of an array; null is null and an empty array is not")
    func arrays() {
        #expect(RESPValue.array([.null]).array == [.null])
        #expect(RESPValue.bytes([]).array == nil)
        #expect(RESPValue.null.isNull)
        #expect(!RESPValue.array([]).isNull)
        #expect(!RESPValue.bytes([]).isNull)
    }
}
