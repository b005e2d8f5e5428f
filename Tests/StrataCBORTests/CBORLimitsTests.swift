import StrataCBOR
import Testing

@Suite("CBOR: limits and malformed documents")
struct CBORLimitsTests {
    /// A recursive type, whose document nests twice a level.
    struct Node: Codable, Equatable {
        var next: [Node]
    }

    private func code(_ document: [UInt8], _ limits: CBORLimits = CBORLimits()) -> CBORError.Code? {
        var decoder = CBORDecoder()
        decoder.limits = limits
        let viaDecoder: CBORError.Code?
        do {
            _ = try decoder.decode(Anything.self, from: document)
            viaDecoder = nil
        } catch {
            viaDecoder = (error as? CBORError)?.code
        }
        do {
            _ = try CBORValue(decoding: document, limits: limits)
            #expect(viaDecoder == nil)
        } catch {
            #expect((error as? CBORError)?.code == viaDecoder)
        }
        return viaDecoder
    }

    @Test(
        "documents that are not well-formed, RFC 8949 appendix F",
        arguments: [
            // End of input in a head, a string, a container, a tag, and an indefinite item.
            ("18", CBORError.Code.truncated), ("19", .truncated), ("1a0102", .truncated),
            ("1b01020304050607", .truncated), ("38", .truncated), ("58", .truncated),
            ("f8", .truncated), ("f900", .truncated), ("fa0000", .truncated), ("fb000000", .truncated),
            ("41", .truncated), ("61", .truncated),
            ("5affffffff00", .stringTooLong), ("5b00000000000000ff010203", .truncated),
            ("7affffffff00", .stringTooLong), ("7b7fffffffffffffff010203", .stringTooLong),
            ("81", .truncated), ("818181818181818181", .truncated), ("8200", .truncated), ("a1", .truncated),
            ("a20102", .truncated), ("a100", .truncated), ("a2000000", .truncated),
            ("c0", .truncated), ("d8", .truncated), ("5f4100", .truncated), ("7f6100", .truncated), ("9f", .truncated),
            ("9f0102", .truncated), ("bf", .truncated),
            ("bf01020102", .truncated), ("819f", .truncated), ("9f8000", .truncated),
            ("9f9f9f9f9fffffffff", .truncated), ("9f819f819f9fffffff", .truncated), ("", .truncated),
            // Reserved lengths.
            ("1c", .malformed), ("1d", .malformed), ("1e", .malformed), ("3c", .malformed), ("5c", .malformed),
            ("7d", .malformed), ("9c", .malformed), ("bd", .malformed),
            ("dc", .malformed), ("fc", .malformed), ("fd", .malformed), ("fe", .malformed),
            // Simple values below 32 in two bytes.
            ("f800", .malformed), ("f801", .malformed), ("f818", .malformed), ("f81f", .malformed),
            // Chunks that are no definite strings of the kind.
            ("5f00ff", .malformed), ("5f21ff", .malformed), ("5f6100ff", .malformed), ("5f80ff", .malformed),
            ("5fa0ff", .malformed), ("5fc000ff", .malformed), ("5fe0ff", .malformed),
            ("7f4100ff", .malformed), ("5f5f4100ffff", .malformed), ("7f7f6100ffff", .malformed),
            // A break where none may stand, an odd map, and lengths that cannot be indefinite.
            ("ff", .malformed), ("81ff", .malformed), ("8200ff", .malformed), ("a1ff", .truncated),
            ("a1ff0000", .malformed), ("a1ff00", .malformed), ("a100ff", .malformed), ("a20000ff", .truncated),
            ("a20000ff00", .malformed), ("9f81ff", .malformed),
            ("9f829f819f9fffffffff", .malformed), ("bf00ff", .malformed), ("bf000000ff", .malformed),
            ("1f", .malformed), ("3f", .malformed), ("df", .malformed),
            // More than one item.
            ("0000", .trailingBytes), ("8000", .trailingBytes), ("a0ff", .trailingBytes), ("616100", .trailingBytes),
        ] as [(String, CBORError.Code)]
    )
    func malformed(document: String, code expected: CBORError.Code) {
        #expect(code(hex(document)) == expected)
    }

    @Test(
        "text that is not UTF-8: lone continuations, overlong forms, surrogates, cut characters, also across chunks",
        arguments: [
            "6180", "62c080", "63eda080", "62e6b0", "61ff", "7f61e662b0b4ff", "6a61616161616161616180",
            "67616161616161c3",
        ]
    )
    func invalidText(document: String) throws {
        for error in [
            try #require(throws: CBORError.self) { try CBORDecoder().decode(String.self, from: hex(document)) },
            try #require(throws: CBORError.self) {
                try CBORDecoder().decode([String: String].self, from: hex("a16161" + document))
            },
            try #require(throws: CBORError.self) { try CBORValue(decoding: hex(document)) },
        ] {
            #expect(error.code == .invalidText)
        }
        // A replacement character is as long as what it would replace here.
        #expect(throws: CBORError.self) { try CBORDecoder().decode(String.self, from: hex("63f09f98")) }
        for length in 1...20 {
            for place in 0..<length {
                var text = [UInt8](repeating: 0x61, count: length)
                text[place] = 0xC3
                #expect(throws: CBORError.self) {
                    try CBORDecoder().decode(String.self, from: [0x60 + UInt8(length)] + text)
                }
            }
        }
        // As keys, of any length and form of head: two that are damaged must not become one.
        for head in [[0x61], [0x78, 1], [0x78, 24], [0x79, 0, 24]] as [[UInt8]] {
            let text = [UInt8](repeating: 0x61, count: Int(head.last == 24 ? 23 : 0)) + [0x80]
            let document = [0xA1] + head + text + [1]
            let error = try #require(throws: CBORError.self) {
                try CBORDecoder().decode([String: Int].self, from: document)
            }
            #expect(error.code == .invalidText)
            #expect(throws: (any Error).self) { try CBORDecoder().decode([String: [Int]].self, from: document) }
        }
        // A replacement character that stands in the text is one of its own.
        #expect(try CBORDecoder().decode(String.self, from: hex("64efbfbd61")) == "\u{FFFD}a")
    }

    @Test("nesting up to the limit is read, one level more is refused, a million is no harm")
    func depth() throws {
        func nest(_ head: [UInt8], _ levels: Int, _ end: [UInt8] = []) -> [UInt8] {
            let heads = [[UInt8]](repeating: head, count: levels).joined()
            return heads + [0x00] + [[UInt8]](repeating: end, count: levels).joined()
        }
        for head in [0x81, 0x9F, 0xC6] as [UInt8] {
            #expect(code([UInt8](repeating: head, count: 1_000_000)) == .tooDeep)
        }
        for (head, end) in [([0x81], []), ([0x9F], [0xFF]), ([0xA1, 0x60], []), ([0xBF, 0x60], [0xFF]), ([0xC6], [])]
            as [([UInt8], [UInt8])]
        {
            #expect(code(nest(head, 128, end)) == nil)
            #expect(code(nest(head, 129, end)) == .tooDeep)
            #expect(code(nest(head, 5000, end)) == .tooDeep)
            #expect(code(nest(head, 3, end), CBORLimits(depth: 3)) == nil)
            #expect(code(nest(head, 4, end), CBORLimits(depth: 3)) == .tooDeep)
            #expect(code(nest(head, 512, end), CBORLimits(depth: .max)) == nil)
            #expect(code(nest(head, 513, end), CBORLimits(depth: .max)) == .tooDeep)
            #expect(code(nest(head, 1, end), CBORLimits(depth: -5)) == nil)
            #expect(code(nest(head, 2, end), CBORLimits(depth: -5)) == .tooDeep)
        }
        // A key may be nested too.
        #expect(code([0xA1] + nest([0x81], 127) + [0x00]) == nil)
        #expect(code([0xA1] + nest([0x81], 128) + [0x00]) == .tooDeep)
    }

    @Test("lengths that are only announced cost nothing")
    func announcedLengths() {
        for head in ["9b", "bb"] {
            for length in [
                "7fffffffffffffff", "8000000000000000", "ffffffffffffffff", "0000000100000000", "0000000000800001",
            ] {
                #expect(code(hex(head + length + "0000")) == .tooManyElements)
            }
            #expect(code(hex(head + "0000000000800000" + "0000")) == .truncated)
        }
        for head in ["5b", "7b"] {
            for length in ["7fffffffffffffff", "8000000000000000", "ffffffffffffffff", "0000000004000001"] {
                #expect(code(hex(head + length + "0000")) == .stringTooLong)
            }
            #expect(code(hex(head + "0000000004000000" + "0000")) == .truncated)
        }
    }

    @Test("limits of bytes, elements and strings hold exactly")
    func limits() {
        #expect(code([0x83, 1, 2, 3], CBORLimits(bytes: 4)) == nil)
        #expect(code([0x83, 1, 2, 3], CBORLimits(bytes: 3)) == .tooLarge)
        #expect(code([0x83, 1, 2, 3], CBORLimits(bytes: -1)) == .tooLarge)
        #expect(code([0x83, 1, 2, 3], CBORLimits(bytes: .max)) == nil)
        for document in ["83010203", "9f010203ff", "a3 6161 01 6162 02 6163 03", "bf 6161 01 6162 02 6163 03 ff"] {
            #expect(code(hex(document), CBORLimits(elements: 3)) == nil)
            #expect(code(hex(document), CBORLimits(elements: 2)) == .tooManyElements)
            #expect(code(hex(document), CBORLimits(elements: -1)) == .tooManyElements)
        }
        // The elements of all containers count together.
        for document in ["82 8100 8101", "9f 9f00ff 8101 ff", "a2 00 8101 01 a1 6161 00"] {
            #expect(code(hex(document), CBORLimits(elements: 4)) == nil)
            #expect(code(hex(document), CBORLimits(elements: 3)) == .tooManyElements)
        }
        for document in ["6461626364", "7f 62 6162 62 6364 ff", "a1 6461626364 00"] {
            #expect(code(hex(document), CBORLimits(stringBytes: 4)) == nil)
            #expect(code(hex(document), CBORLimits(stringBytes: 3)) == .stringTooLong)
        }
    }

    @Test("the path and the place of a fault")
    func place() throws {
        let error = try #require(throws: CBORError.self) {
            try CBORDecoder().decode(Int.self, from: hex("a2 6161 00 626262 83 01 a1 05 1c 00"))
        }
        #expect(error.code == .malformed)
        #expect(path(error.codingPath) == "bb.1.5")
        #expect(error.byteOffset == 11)
        #expect("\(error)".contains("malformed"))
    }

    @Test("a document that the default encoder makes is one that the default decoder takes, at the limit too")
    func encoderDepth() throws {
        func node(_ levels: Int) -> Node {
            (1..<levels).reduce(Node(next: [])) { inner, _ in Node(next: [inner]) }
        }
        // A map and an array a level.
        try expectRoundTrip(node(64))
        #expect(throws: EncodingError.self) { try CBOREncoder().encode(node(65)) }
        var encoder = CBOREncoder()
        encoder.depthLimit = .max
        let deep = try encoder.encode(node(256))
        var decoder = CBORDecoder()
        decoder.limits.depth = .max
        #expect(try decoder.decode(Node.self, from: deep) == node(256))
        #expect(throws: EncodingError.self) { try encoder.encode(node(257)) }
        encoder.depthLimit = 1
        #expect(try encoder.encode([1]) == [0x81, 1])
        #expect(throws: EncodingError.self) { try encoder.encode([[1]]) }
        #expect(throws: EncodingError.self) { try encoder.encode([["a": 1]]) }
    }

    @Test("the tag of a number of more than 64 bits is a level, which what is encoded has left for it")
    func wideNumbers() throws {
        var encoder = CBOREncoder()
        encoder.depthLimit = 2
        var decoder = CBORDecoder()
        decoder.limits.depth = 2
        let large = Int128(UInt64.max) + 1
        #expect(try decoder.decode([Int128].self, from: encoder.encode([large])) == [large])
        let wide = [[large]]
        #expect(throws: EncodingError.self) { try encoder.encode(wide) }
        #expect(throws: EncodingError.self) { try encoder.encode([["a": UInt128.max]]) }
        #expect(throws: EncodingError.self) { try encoder.encode([[large as Int128?]]) }
        // What 64 bits hold has no tag.
        #expect(try decoder.decode([[Int128]].self, from: encoder.encode([[large - 1]])) == [[large - 1]])
    }

    @Test("an object that holds itself ends in an error")
    func cycles() {
        final class Ring: Encodable {
            var next: Ring?
            let inSingleValue: Bool

            init(inSingleValue: Bool) {
                self.inSingleValue = inSingleValue
            }

            func encode(to encoder: any Encoder) throws {
                if inSingleValue {
                    var container = encoder.singleValueContainer()
                    try container.encode(next)
                } else {
                    var container = encoder.unkeyedContainer()
                    var nested = container.nestedUnkeyedContainer()
                    try nested.encode(next)
                }
            }
        }
        for inSingleValue in [false, true] {
            let ring = Ring(inSingleValue: inSingleValue)
            ring.next = ring
            #expect(throws: EncodingError.self) { try CBOREncoder().encode(ring) }
            ring.next = nil
        }
    }
}
