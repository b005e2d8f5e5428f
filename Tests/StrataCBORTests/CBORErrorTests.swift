import StrataCBOR
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("CBOR: errors")
struct CBORErrorTests {
    struct Leaf: Codable {
        var number: Int
        var text: String?
    }

    struct Tree: Codable {
        var leaves: [String: [Leaf]]
        var first: Leaf?
    }

    /// A document that does not fit its type: as JSON and as CBOR.
    struct Misfit: Sendable, CustomTestStringConvertible {
        var json: String
        var cbor: String
        var testDescription: String { json }
    }

    @Test(
        "errors of a document that does not fit are those that JSON gives: kind, path and key",
        arguments: [
            Misfit(
                json: #"{"leaves":{"a":[{"number":1},{"number":"x"}]}}"#,
                cbor: "a1 666c6561766573 a1 6161 82 a1 666e756d62657201 a1 666e756d6265726178"
            ),
            Misfit(
                json: #"{"leaves":{"a":[{"number":1},{}]}}"#,
                cbor: "a1 666c6561766573 a1 6161 82 a1 666e756d62657201 a0"
            ),
            Misfit(
                json: #"{"leaves":{"a":[{"number":null}]}}"#,
                cbor: "a1 666c6561766573 a1 6161 81 a1 666e756d626572f6"
            ),
            Misfit(json: #"{"leaves":{"a":[5]}}"#, cbor: "a1 666c6561766573 a1 6161 81 05"),
            Misfit(json: #"{"leaves":{"a":7}}"#, cbor: "a1 666c6561766573 a1 6161 07"),
            Misfit(json: #"{"leaves":[]}"#, cbor: "a1 666c6561766573 80"),
            Misfit(json: #"{"leaves":null}"#, cbor: "a1 666c6561766573 f6"),
            Misfit(json: #"{}"#, cbor: "a0"),
            Misfit(json: #"[]"#, cbor: "80"),
            Misfit(
                json: #"{"leaves":{},"first":{"number":1,"text":2}}"#,
                cbor: "a2 666c6561766573a0 656669727374 a2 666e756d62657201 6474657874 02"
            ),
        ]
    )
    func misfits(_ misfit: Misfit) throws {
        let expected = try #require(throws: DecodingError.self) {
            try JSONDecoder().decode(Tree.self, from: Data(misfit.json.utf8))
        }
        let error = try #require(throws: DecodingError.self) {
            try CBORDecoder().decode(Tree.self, from: hex(misfit.cbor))
        }
        #expect(outline(error) == outline(expected))
    }

    private func outline(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(_, let context): "type mismatch at \(path(context.codingPath))"
        case .valueNotFound(_, let context): "no value at \(path(context.codingPath))"
        case .keyNotFound(let key, let context): "no key \(key.stringValue) at \(path(context.codingPath))"
        case .dataCorrupted(let context): "corrupted at \(path(context.codingPath))"
        @unknown default: "other"
        }
    }

    @Test("reading past the end of an array names the place behind it")
    func pastTheEnd() throws {
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Int.self)
                #expect(container.currentIndex == 1)
                _ = try container.decode(Int.self)
            }
        }
        let error = try #require(throws: DecodingError.self) {
            try CBORDecoder().decode([Pair].self, from: hex("818101"))
        }
        #expect(outline(error) == "no value at 0.1")
    }

    @Test("a failed read leaves the container where it was")
    func retry() throws {
        struct Either: Decodable {
            var values: [String] = []
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd {
                    if let number = try? container.decode(Int.self) {
                        values.append("\(number)")
                    } else if try container.decodeNil() {
                        values.append("nil")
                    } else {
                        values.append(try container.decode(String.self))
                    }
                }
            }
        }
        #expect(try CBORDecoder().decode(Either.self, from: hex("84 01 6161 f6 02")).values == ["1", "a", "nil", "2"])
        let mixed = try CBORDecoder().decode(Anything.self, from: hex("85 f6 f5 82 01 20 f93e00 a2 6161 80 6162 a0"))
        #expect(
            mixed
                == .list([
                    .null, .bool(true), .list([.int(1), .int(-1)]), .double(1.5),
                    .map(["a": .list([]), "b": .map([:])]),
                ])
        )
    }

    @Test("trying one form after the other in large containers, and the place of a fault far inside")
    func manyRetries() throws {
        let count = 3000
        let list = try CBOREncoder().encode([String](repeating: "x", count: count))
        #expect(
            try CBORDecoder().decode(Anything.self, from: list)
                == .list([Anything](repeating: .text("x"), count: count))
        )
        let names = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", "x") })
        #expect(
            try CBORDecoder().decode(Anything.self, from: CBOREncoder().encode(names))
                == .map(names.mapValues { .text($0) })
        )

        struct Numbers: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd { _ = try container.decode(Leaf.self) }
            }
        }
        var leaves = try CBOREncoder().encode([Leaf](repeating: Leaf(number: 1), count: count))
        leaves[leaves.count - 1] = 0xF4
        let error = try #require(throws: DecodingError.self) { try CBORDecoder().decode(Numbers.self, from: leaves) }
        #expect(outline(error) == "type mismatch at \(count - 1).number")
    }

    @Test("coding paths seen while decoding")
    func decodingPaths() throws {
        struct Seen: Decodable {
            init(from decoder: any Decoder) throws {
                #expect(path(decoder.codingPath) == "list.1")
                var container = try decoder.container(keyedBy: Name.self).nestedUnkeyedContainer(forKey: Name("k"))
                #expect(path(container.codingPath) == "list.1.k")
                _ = try container.decodeNil()
                let inner = try container.superDecoder()
                #expect(path(inner.codingPath) == "list.1.k.1")
                #expect(path(try inner.container(keyedBy: Name.self).superDecoder().codingPath) == "list.1.k.1.super")
            }
        }
        struct Root: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.container(keyedBy: Name.self).nestedUnkeyedContainer(forKey: Name("list"))
                _ = try list.decode(Int.self)
                _ = try list.decode(Seen.self)
            }
        }
        _ = try CBORDecoder().decode(Root.self, from: hex("a1 646c697374 82 05 a1 616b 82 f6 a1 657375706572 01"))
    }

    @Test("coding paths seen while encoding, and of a failure")
    func encodingPaths() throws {
        struct Failure: Error {}
        struct Deep: Encodable {
            func encode(to encoder: any Encoder) throws {
                #expect(path(encoder.codingPath) == "a.1.b")
                var container = encoder.container(keyedBy: Name.self)
                #expect(path(container.codingPath) == "a.1.b")
                var list = container.nestedUnkeyedContainer(forKey: Name("list"))
                try container.encode(1, forKey: Name("other"))
                #expect(path(list.codingPath) == "a.1.b.list")
                try list.encode(1)
                #expect(path(list.superEncoder().codingPath) == "a.1.b.list.1")
                #expect(path(container.superEncoder().codingPath) == "a.1.b.super")
                #expect(path(container.superEncoder(forKey: Name("s")).codingPath) == "a.1.b.s")
                throw Failure()
            }
        }
        struct Skipping: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Name.self)
                #expect(throws: Failure.self) { try container.encode(Deep(), forKey: Name("b")) }
                try container.encode("kept", forKey: Name("c"))
            }
        }
        struct Root: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                try list.encode(Skipping())
                #expect(list.count == 2)
            }
        }
        // What failed and was caught leaves no trace.
        #expect(try hex(CBOREncoder().encode(["a": Root()])) == "a161618201a16163646b657074")
    }

    @Test("what a value wrote before it failed is taken back")
    func failureInSingleValue() throws {
        struct Failure: Error {}
        struct Partial: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode(["a": 1])
                _ = list.nestedUnkeyedContainer()
                throw Failure()
            }
        }
        struct Either: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                #expect(throws: Failure.self) { try container.encode(Partial()) }
                try container.encode(2)
            }
        }
        #expect(try hex(CBOREncoder().encode(["k": [Either(), Either()]])) == "a1616b820202")
    }

    @Test("a container used out of turn gives an error, not a wrong document")
    func misuse() throws {
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        struct Both: Encodable {
            func encode(to encoder: any Encoder) throws {
                _ = encoder.container(keyedBy: Name.self)
                _ = encoder.unkeyedContainer()
            }
        }
        // Proof of `Sendable`: the one test that makes it is the only one that uses it.
        final class Keeper: Encodable, @unchecked Sendable {
            var kept: KeyedEncodingContainer<Name>?
            var encoder: (any Encoder)?

            func encode(to encoder: any Encoder) throws {
                self.encoder = encoder
                kept = encoder.container(keyedBy: Name.self)
                try kept?.encode(1, forKey: Name("a"))
            }
        }
        struct Outside: Encodable {
            let keeper: Keeper
            func encode(to encoder: any Encoder) throws {
                try keeper.kept?.encode(2, forKey: Name("b"))
            }
        }
        #expect(throws: EncodingError.self) { try CBOREncoder().encode(Twice()) }
        #expect(throws: EncodingError.self) { try CBOREncoder().encode(["a": [Both()]]) }
        let keeper = Keeper()
        #expect(try hex(CBOREncoder().encode(keeper)) == "a1616101")
        #expect(throws: EncodingError.self) { try keeper.kept?.encode(2, forKey: Name("b")) }
        var kept = try #require(keeper.kept)
        let nested = kept.superEncoder(forKey: Name("b"))
        #expect(throws: EncodingError.self) { try [1].encode(to: nested) }
        let encoder = try #require(keeper.encoder)
        #expect(encoder.codingPath.isEmpty)
        #expect(throws: EncodingError.self) { try [1].encode(to: encoder) }
        #expect(throws: EncodingError.self) {
            try CBOREncoder().encode([AnyEncodable(keeper), AnyEncodable(Outside(keeper: keeper))])
        }
    }

    @Test("an encode that fails amid nested containers leaves nothing behind")
    func failureReleasesNestedContainers() throws {
        final class Witness: Sendable {}
        struct Failure: Error {}
        struct Nesting: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Name.self)
                var list = container.nestedUnkeyedContainer(forKey: Name("list"))
                var inner = list.nestedUnkeyedContainer()
                try inner.encode(1)
                _ = list.superEncoder()
                throw Failure()
            }
        }
        weak var witness: Witness?
        do {
            let strong = Witness()
            witness = strong
            var encoder = CBOREncoder()
            encoder.userInfo[try #require(CodingUserInfoKey(rawValue: "witness"))] = strong
            #expect(throws: Failure.self) { try encoder.encode(["a": [Nesting()]]) }
        }
        #expect(witness == nil)
    }

    /// A value of any type.
    struct AnyEncodable: Encodable {
        let value: any Encodable

        init(_ value: any Encodable) {
            self.value = value
        }

        func encode(to encoder: any Encoder) throws {
            try value.encode(to: encoder)
        }
    }

    @Test("no message tells a value or a key of the document")
    func descriptions() throws {
        let secret = "5ecret"
        for (document, type) in [
            (hex("a1 66356563726574 66356563726574"), [String: Int].self as any Decodable.Type),
            (hex("82 66356563726574 66356563726574 00"), [String].self),
            (hex("a2 66356563726574 01 66356563726574 02"), [String: Int].self),
            (hex("a1 66356563726574 67356563726574ff"), [String: String].self),
            (hex("81 66356563726574"), [UUID].self),
        ] {
            do {
                _ = try CBORDecoder().decode(type, from: document)
                Issue.record("decoded")
            } catch let error as CBORError {
                #expect(!"\(error)".contains(secret))
                #expect(!error.message.contains(secret))
            } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
                #expect(!context.debugDescription.contains(secret))
            }
        }
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode("5ecret")
                try container.encode("5ecret")
            }
        }
        let error = try #require(throws: EncodingError.self) { try CBOREncoder().encode(Failing()) }
        #expect(!"\(error)".contains(secret))
    }
}
