import Strata
import Testing

@testable import StrataRedis

@Suite("Numbers from the server")
struct ServerNumberTests {
    static let extremes: [Int64] = [
        .min, .min + 1, -9_223_372_037, -9_223_372_036, -1, 0, 1, 9_000_000_000, 9_000_000_001, 9_223_372_036,
        9_223_372_037, 9_223_372_036_854_775, .max - 1, .max,
    ]

    @Test("decimal text is the number that it says, or none", arguments: extremes)
    func text(number: Int64) {
        let text = Array("\(number)".utf8)
        #expect(ServerNumber.decimal(text, in: .min ... .max) == number)
        #expect(RESPValue.bytes(text).number(in: .min ... .max) == number)
        #expect(RESPValue.integer(number).number(in: -1...1) == ((-1...1).contains(number) ? number : nil))
        #expect(ServerNumber.magnitude(text) == UInt64(exactly: number))
    }

    @Test(
        "what is no decimal number is none",
        arguments: [
            "", "-", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "--1", "9223372036854775808", "-9223372036854775809",
            "99999999999999999999", "184467440737095516160", "\u{661}", "1\0",
        ]
    )
    func noNumber(text: String) {
        #expect(ServerNumber.decimal(Array(text.utf8), in: .min ... .max) == nil)
    }

    @Test("a cursor uses all 64 bits")
    func cursor() {
        #expect(RESPValue.bytes(Array("18446744073709551615".utf8)).cursor == .max)
        #expect(RESPValue.bytes(Array("18446744073709551616".utf8)).cursor == nil)
        #expect(RESPValue.bytes(Array("-1".utf8)).cursor == nil)
        #expect(RESPValue.integer(-1).cursor == nil)
    }

    @Test("counts of a whole walk can be summed", arguments: extremes)
    func count(number: Int64) {
        let count = RESPValue.integer(number).count
        #expect(count == ((0...1 << 40).contains(number) ? Int(number) : nil))
        // A walk over 4 billion keys in steps of 512.
        #expect(!(count ?? 0).multipliedReportingOverflow(by: 1 << 22).overflow)
    }

    @Test("the time of a server is a time after 1970, or none", arguments: extremes)
    func time(number: Int64) {
        for other in Self.extremes {
            let reply = RESPValue.array([.integer(number), .integer(other)])
            let isTime = (0...9_000_000_000).contains(number) && (0...999_999).contains(other)
            #expect(RedisClient.time(in: reply) == (isTime ? .seconds(number) + .microseconds(other) : nil))
        }
    }

    @Test("marks are taken only where they make sense", arguments: extremes)
    func marks(number: Int64) {
        let expected = (0...8_000_000_000_000_000).contains(number) ? UInt64(number) : nil
        #expect(TagMarks.number(Array("\(number)".utf8)) == expected)
    }
}
