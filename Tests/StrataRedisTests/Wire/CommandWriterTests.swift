import Strata
import Testing

@testable import StrataRedis

@Suite("Encoding of commands")
struct CommandWriterTests {
    private func written(_ body: (inout CommandWriter) -> Void) -> [UInt8] {
        var writer = CommandWriter()
        body(&writer)
        return Array(writer.bytes)
    }

    private func text(_ body: (inout CommandWriter) -> Void) -> String {
        String(decoding: written(body), as: UTF8.self)
    }

    @Test("a command is an array of bulk strings, whatever kind its arguments are of")
    func everyKindOfArgument() {
        let command = text { writer in
            writer.begin(6)
            writer.argument("SET" as StaticString)
            writer.argument(RedisKey("key"))
            writer.argument([0x76, 0x61] as [UInt8])
            writer.argument("PX")
            writer.argument(1_500)
            writer.argument("é😀")
        }
        #expect(command == "*6\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\nva\r\n$2\r\nPX\r\n$4\r\n1500\r\n$6\r\né😀\r\n")
    }

    @Test(
        "integers are decimal, to both ends of their range",
        arguments: [
            (0, "$1\r\n0\r\n"), (7, "$1\r\n7\r\n"), (9, "$1\r\n9\r\n"), (10, "$2\r\n10\r\n"), (-1, "$2\r\n-1\r\n"),
            (-9, "$2\r\n-9\r\n"), (-10, "$3\r\n-10\r\n"), (99, "$2\r\n99\r\n"), (100, "$3\r\n100\r\n"),
            (.max, "$19\r\n9223372036854775807\r\n"), (.min, "$20\r\n-9223372036854775808\r\n"),
        ] as [(Int64, String)]
    )
    func integers(value: Int64, expected: String) {
        #expect(text { $0.argument(value) } == expected)
    }

    @Test("powers of ten and their neighbours have as many digits as they are announced with")
    func powersOfTen() {
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            for value in [power - 1, power, power + 1, -power, 1 - power, -power - 1] {
                let digits = String(value)
                #expect(WireBuffer.decimalLength(value) == digits.utf8.count)
                #expect(text { $0.argument(value) } == "$\(digits.utf8.count)\r\n\(digits)\r\n")
            }
        }
    }

    @Test("empty arguments stay arguments")
    func empty() {
        let command = text { writer in
            writer.begin(4)
            writer.argument("" as StaticString)
            writer.argument([])
            writer.argument("")
            writer.argument(RedisKey([]))
        }
        #expect(command == "*4\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n")
    }

    @Test("line ends, NUL and every other byte are counted, not interpreted")
    func binary() {
        let hostile = Array("a\r\n$3\r\nDEL\r\n".utf8) + [0, 0xff, 0xfe] + Array(0...255)
        let bytes = written { writer in
            writer.begin(2)
            writer.argument(hostile)
            writer.argument(RedisKey(hostile))
        }
        let one = Array("$\(hostile.count)\r\n".utf8) + hostile + [0x0d, 0x0a]
        #expect(bytes == Array("*2\r\n".utf8) + one + one)
    }

    @Test("text is counted in bytes and keeps its normal form")
    func textLength() {
        #expect(text { $0.argument("e\u{301}") } == "$3\r\ne\u{301}\r\n")
        #expect(written { $0.argument("e\u{301}") } == Array("$3\r\ne\u{301}\r\n".utf8))
        #expect(written { $0.argument("\u{e9}") } == Array("$2\r\n\u{e9}\r\n".utf8))
        #expect(written { $0.argument("\0") } == Array("$1\r\n\0\r\n".utf8))
    }

    @Test("commands follow each other, and a refused one is cut off again")
    func truncation() {
        var writer = CommandWriter()
        writer.begin(1)
        writer.argument("PING" as StaticString)
        let before = writer.count
        writer.begin(2)
        writer.argument("GET" as StaticString)
        writer.argument(RedisKey("a"))
        writer.truncate(to: before)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "*1\r\n$4\r\nPING\r\n")
        writer.begin(1)
        writer.argument("TIME" as StaticString)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nTIME\r\n")
        writer.removeAll()
        let isEmpty = writer.isEmpty
        #expect(isEmpty)
        #expect(Array(writer.bytes) == [])
    }

    @Test("a reader of our own replies reads the command back, for random arguments")
    func readsBack() throws {
        var random = SplitMix64.announced()
        for _ in 0..<200 {
            let arguments = (0..<Int.random(in: 1...12, using: &random))
                .map { _ in
                    random.bytes(.random(in: 0...200, using: &random))
                }
            let bytes = written { writer in
                writer.begin(arguments.count)
                for argument in arguments { writer.argument(argument) }
            }
            #expect(try ReplyReader().read(bytes) == [.array(arguments.map { .bytes($0) })])
        }
    }
}
