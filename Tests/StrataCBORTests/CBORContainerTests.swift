import StrataCBOR
import Testing

@Suite("CBOR: containers used in every way")
struct CBORContainerTests {
    enum Shape: Codable, Equatable {
        case point
        case circle(radius: Double)
        case labelled(String, at: [Int])
        indirect case group(Shape, Shape)
    }

    @Test("enums with associated values")
    func enums() throws {
        try expectRoundTrip(Shape.point)
        try expectRoundTrip([
            Shape.circle(radius: 2.5), .labelled("x", at: [1, 2]), .group(.point, .circle(radius: 1)),
        ])
        #expect(try hex(CBOREncoder().encode(Shape.circle(radius: 2))) == "a166636972636c65a166726164697573f94000")
    }

    class Animal: Codable {
        var name: String

        init(name: String) {
            self.name = name
        }
    }

    final class Dog: Animal {
        var tricks: [String]

        init(name: String, tricks: [String]) {
            self.tricks = tricks
            super.init(name: name)
        }

        enum CodingKeys: String, CodingKey { case tricks }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            tricks = try container.decode([String].self, forKey: .tricks)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: container.superEncoder())
            try container.encode(tricks, forKey: .tricks)
        }
    }

    @Test("class inheritance through a super-encoder")
    func inheritance() throws {
        let bytes = try CBOREncoder().encode(Dog(name: "Rex", tricks: ["sit"]))
        #expect(try CBORValue(decoding: bytes).encoded() == bytes)
        let copy = try CBORDecoder().decode(Dog.self, from: bytes)
        #expect(copy.name == "Rex")
        #expect(copy.tricks == ["sit"])
    }

    final class Cat: Animal {
        var lives: Int

        init(name: String, lives: Int) {
            self.lives = lives
            super.init(name: name)
        }

        enum CodingKeys: String, CodingKey { case lives, name }

        required init(from decoder: any Decoder) throws {
            lives = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .lives)
            try super.init(from: decoder)
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(lives, forKey: .lives)
            try container.encode("overwritten", forKey: .name)
            try super.encode(to: encoder)
        }
    }

    @Test("class inheritance in one map: of a key written twice the later value stays")
    func sharedMap() throws {
        let bytes = try CBOREncoder().encode(Cat(name: "Tom", lives: 7))
        #expect(hex(bytes) == "a2646e616d6563546f6d656c6976657307")
        #expect(try CBORDecoder().decode(Cat.self, from: bytes).name == "Tom")
    }

    /// Writes to three nested containers in turn, and reads back in another order.
    struct Interleaved: Codable, Equatable {
        var left: [Int]
        var right: [String: Int]
        var element: String

        enum CodingKeys: String, CodingKey { case left, right, list, other }
        enum Inner: String, CodingKey { case a, b }

        init(left: [Int], right: [String: Int], element: String) {
            self.left = left
            self.right = right
            self.element = element
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var first = container.nestedUnkeyedContainer(forKey: .left)
            try container.encode("before", forKey: .other)
            var second = container.nestedContainer(keyedBy: Inner.self, forKey: .right)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            var inList = list.nestedContainer(keyedBy: Inner.self)
            for (index, number) in left.enumerated() {
                try first.encode(number)
                if index == 0 { try second.encode(right["b"] ?? 0, forKey: .b) }
                try list.encode(index)
            }
            var deeper = list.nestedUnkeyedContainer()
            try second.encode(right["a"] ?? 0, forKey: .a)
            try inList.encode(element, forKey: .b)
            try deeper.encode(element)
            try Set([1]).encode(to: list.superEncoder())
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            element = try list.nestedContainer(keyedBy: Inner.self).decode(String.self, forKey: .b)
            let second = try container.nestedContainer(keyedBy: Inner.self, forKey: .right)
            right = ["a": try second.decode(Int.self, forKey: .a), "b": try second.decode(Int.self, forKey: .b)]
            var first = try container.nestedUnkeyedContainer(forKey: .left)
            left = []
            #expect(first.count == list.count.map { $0 - 3 })
            while !first.isAtEnd {
                left.append(try first.decode(Int.self))
                #expect(try list.decode(Int.self) == left.count - 1)
            }
            var deeper = try list.nestedUnkeyedContainer()
            #expect(try deeper.decode(String.self) == element)
            #expect(try Set<Int>(from: list.superDecoder()) == [1])
            #expect(list.isAtEnd)
        }
    }

    @Test("nested containers filled in turn")
    func interleaved() throws {
        try expectRoundTrip(Interleaved(left: [1, 2, 3], right: ["a": 10, "b": 20], element: "x"))
        let many = Interleaved(
            left: Array(0..<400),
            right: ["a": -1, "b": 1],
            element: String(repeating: "x", count: 999)
        )
        try expectRoundTrip([many, many])
    }

    /// A wrapper that is nothing but its value.
    struct Wrapper<Value: Codable & Equatable>: Codable, Equatable {
        var value: Value

        init(_ value: Value) {
            self.value = value
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }

        init(from decoder: any Decoder) throws {
            value = try decoder.singleValueContainer().decode(Value.self)
        }
    }

    @Test("values inside single value containers")
    func wrappers() throws {
        try expectRoundTrip(Wrapper(Wrapper(Wrapper([Shape.point]))))
        try expectRoundTrip(["k": Wrapper(Wrapper(7))])
        #expect(try hex(CBOREncoder().encode([Wrapper(Wrapper("a"))])) == "816161")
    }

    struct Empty: Codable, Equatable {}

    @Test("values that encode nothing")
    func empty() throws {
        struct Silent: Codable, Equatable {
            init() {}
            init(from decoder: any Decoder) throws {}
            func encode(to encoder: any Encoder) throws {}
        }
        try expectRoundTrip(Empty())
        try expectRoundTrip([Empty(), Empty()])
        try expectRoundTrip(["a": Silent()])
        #expect(throws: EncodingError.self) { try CBOREncoder().encode(Silent()) }
    }

    @Test("keys, presence and null of a map")
    func keys() throws {
        struct Probe: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Inner.self)
                #expect(Set(container.allKeys.map(\.stringValue)) == ["a", "b", "7"])
                #expect(container.allKeys.first { $0.stringValue == "7" }?.intValue == 7)
                #expect(container.contains(Inner("a")))
                #expect(!container.contains(Inner("c")))
                #expect(try container.decodeNil(forKey: Inner("b")))
                #expect(try !container.decodeNil(forKey: Inner("a")))
                #expect(throws: DecodingError.self) { try container.decodeNil(forKey: Inner("c")) }
                #expect(try container.decodeIfPresent(Int.self, forKey: Inner("b")) == nil)
                #expect(try container.decodeIfPresent(Int.self, forKey: Inner("c")) == nil)
                #expect(try container.decode(Int.self, forKey: Inner(7)) == 8)
            }

            struct Inner: CodingKey {
                let stringValue: String
                let intValue: Int?

                init(_ text: String) {
                    stringValue = text
                    intValue = nil
                }

                init(_ number: Int) {
                    stringValue = "\(number)"
                    intValue = number
                }

                init?(stringValue: String) { self.init(stringValue) }
                init?(intValue: Int) { self.init(intValue) }
            }
        }
        // {"a": 1, 7: 8, "b": null, h'00': 1, [1]: 2, 1.0: 3}
        _ = try CBORDecoder().decode(Probe.self, from: hex("a6 6161 01 07 08 6162 f6 4100 01 8101 02 f93c00 03"))
    }

    @Test("a superclass that the document does not have reads as null")
    func missingSuper() throws {
        struct Probe: Decodable {
            init(from decoder: any Decoder) throws {
                let parent = try decoder.container(keyedBy: Shape.Key.self).superDecoder()
                #expect(path(parent.codingPath) == "super")
                #expect(try parent.singleValueContainer().decodeNil())
                #expect(throws: DecodingError.self) { try parent.singleValueContainer().decode(Int.self) }
                #expect(throws: DecodingError.self) { try parent.container(keyedBy: Shape.Key.self) }
                #expect(throws: DecodingError.self) { try parent.unkeyedContainer() }
            }
        }
        _ = try CBORDecoder().decode(Probe.self, from: [0xA0])
    }

    @Test("user info reaches values at any depth")
    func userInfo() throws {
        struct Marked: Codable {
            init() {}
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(encoder.userInfo[CBORContainerTests.mark] as? String ?? "")
            }
            init(from decoder: any Decoder) throws {
                let text = try decoder.singleValueContainer().decode(String.self)
                #expect(text == decoder.userInfo[CBORContainerTests.mark] as? String)
            }
        }
        var encoder = CBOREncoder()
        encoder.userInfo[CBORContainerTests.mark] = "here"
        var decoder = CBORDecoder()
        decoder.userInfo[CBORContainerTests.mark] = "here"
        _ = try decoder.decode([String: [Marked]].self, from: encoder.encode(["a": [Marked(), Marked()]]))
    }

    private static let mark = CodingUserInfoKey(rawValue: "mark")!
}

extension CBORContainerTests.Shape {
    fileprivate enum Key: String, CodingKey { case a }
}
