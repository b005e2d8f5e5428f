import Strata
import Testing

@Suite("Transformers by themselves")
struct TransformerTests {
    enum Refusal: Error, Equatable { case forward, inverse, condition }

    private static let forward: @Sendable (Int) throws -> String = { number in
        guard number >= 0 else { throw Refusal.forward }
        return String(number)
    }

    private static let inverse: @Sendable (String) throws -> Int = { text in
        guard let number = Int(text) else { throw Refusal.inverse }
        return number
    }

    private let plain = TwoWayTransformer(Self.forward, inverse: Self.inverse)
    private let suspending = TwoWayTransformer<Int, String> { number in
        await Task.yield()
        return try Self.forward(number)
    } inverse: { text in
        await Task.yield()
        return try Self.inverse(text)
    }

    private var both: [TwoWayTransformer<Int, String>] { [plain, suspending] }

    @Test("A119 values and errors of the closures pass as they are, in either direction")
    func box() async throws {
        for transformer in both {
            #expect(try await transformer.transform(5) == "5")
            #expect(try await transformer.inverseTransform("5") == 5)
            await #expect(throws: Refusal.forward) { try await transformer.transform(-1) }
            await #expect(throws: Refusal.inverse) { try await transformer.inverseTransform("x") }
            #expect(try await transformer.oneWay.transform(5) == "5")
            await #expect(throws: Refusal.forward) { try await transformer.oneWay.transform(-1) }
        }
    }

    @Test("A120 inverted, the directions swap, errors included; twice is the original")
    func inverted() async throws {
        for transformer in both {
            let inverted = transformer.inverted()
            #expect(try await inverted.transform("5") == 5)
            #expect(try await inverted.inverseTransform(5) == "5")
            await #expect(throws: Refusal.inverse) { try await inverted.transform("x") }
            await #expect(throws: Refusal.forward) { try await inverted.inverseTransform(-1) }
            #expect(try await inverted.inverted().transform(5) == "5")
        }
    }

    @Test("A121 composed: the second of the first's result; if the first fails the second is not called")
    func oneWayComposition() async throws {
        let calls = CallLog()
        let second = OneWayTransformer<String, String> { text in
            calls.add(text)
            if text == "7" { throw Refusal.condition }
            return text + "!"
        }
        for transformer in both {
            let composed = transformer.oneWay.compose(second)
            #expect(try await composed.transform(5) == "5!")
            await #expect(throws: Refusal.condition) { try await composed.transform(7) }
            await #expect(throws: Refusal.forward) { try await composed.transform(-1) }
        }
        #expect(calls.calls == ["5", "7", "5", "7"])
    }

    @Test("A122 composed both ways: the way back runs in the reverse order, and fails if either fails")
    func twoWayComposition() async throws {
        let calls = CallLog()
        let quoting = TwoWayTransformer<String, String> { text in
            "<\(text)>"
        } inverse: { text in
            calls.add(text)
            guard text.hasPrefix("<"), text.hasSuffix(">") else { throw Refusal.condition }
            return String(text.dropFirst().dropLast())
        }
        for transformer in both {
            let composed = transformer.compose(quoting)
            #expect(try await composed.transform(5) == "<5>")
            #expect(try await composed.inverseTransform("<5>") == 5)
            await #expect(throws: Refusal.condition) { try await composed.inverseTransform("5") }
            await #expect(throws: Refusal.inverse) { try await composed.inverseTransform("<x>") }
            await #expect(throws: Refusal.forward) { try await composed.transform(-1) }
        }
        #expect(calls.calls == ["<5>", "5", "<x>", "<5>", "5", "<x>"])
    }

    @Test(
        "A123 conditioned: true transforms, false is a typed error, a condition's own error and the transformer's are kept"
    )
    func conditioned() async throws {
        let condition: @Sendable (Int) throws -> Bool = { number in
            if number == 9 { throw Refusal.condition }
            return number != 8
        }
        for transformer in both {
            let plain = transformer.oneWay.conditioned(condition)
            let suspending = transformer.oneWay.conditioned { number in
                await Task.yield()
                return try condition(number)
            }
            for conditioned in [plain, suspending] {
                #expect(try await conditioned.transform(5) == "5")
                let error = await #expect(throws: CacheError.self) { try await conditioned.transform(8) }
                #expect(error?.code == .conditionNotSatisfied)
                await #expect(throws: Refusal.condition) { try await conditioned.transform(9) }
                await #expect(throws: Refusal.forward) { try await conditioned.transform(-1) }
            }
        }
    }

    @Test("A124 backwards only the inverse condition is consulted, with the same outcomes")
    func conditionedInverse() async throws {
        for transformer in both {
            let asked = CallLog()
            let plain = transformer.conditioned { number in
                asked.add("\(number)")
                return number != 8
            } inverse: { text in
                if text == "9" { throw Refusal.condition }
                return text != "8"
            }
            let suspending = transformer.conditioned { number in
                await Task.yield()
                asked.add("\(number)")
                return number != 8
            } inverse: { text in
                await Task.yield()
                if text == "9" { throw Refusal.condition }
                return text != "8"
            }
            for conditioned in [plain, suspending] {
                #expect(try await conditioned.inverseTransform("5") == 5)
                let error = await #expect(throws: CacheError.self) { try await conditioned.inverseTransform("8") }
                #expect(error?.code == .conditionNotSatisfied)
                await #expect(throws: Refusal.condition) { try await conditioned.inverseTransform("9") }
                await #expect(throws: Refusal.inverse) { try await conditioned.inverseTransform("x") }
            }
            #expect(asked.calls == [])
            for conditioned in [plain, suspending] {
                #expect(try await conditioned.transform(5) == "5")
                let error = await #expect(throws: CacheError.self) { try await conditioned.transform(8) }
                #expect(error?.code == .conditionNotSatisfied)
            }
            #expect(asked.calls == ["5", "8", "5", "8"])
        }
    }

    // MARK: With the key in hand

    private static let keyedForward: @Sendable (String, Int) throws -> String = { key, number in
        guard key != "closed" else { throw Refusal.forward }
        return "\(key)\(number)"
    }

    private static let keyedInverse: @Sendable (String, String) throws -> Int = { key, text in
        guard text.hasPrefix(key), let number = Int(text.dropFirst(key.count)) else { throw Refusal.inverse }
        return number
    }

    private let plainKeyed = KeyAwareTwoWayTransformer(Self.keyedForward, inverse: Self.keyedInverse)
    private let suspendingKeyed = KeyAwareTwoWayTransformer<String, Int, String> { key, number in
        await Task.yield()
        return try Self.keyedForward(key, number)
    } inverse: { key, text in
        await Task.yield()
        return try Self.keyedInverse(key, text)
    }

    private var bothKeyed: [KeyAwareTwoWayTransformer<String, Int, String>] { [plainKeyed, suspendingKeyed] }

    @Test("A125 key and value are passed, and what is rejected keeps its error, in both directions")
    func keyAware() async throws {
        for keyed in bothKeyed {
            #expect(try await keyed.transform(5, for: "k") == "k5")
            #expect(try await keyed.inverseTransform("k5", for: "k") == 5)
            await #expect(throws: Refusal.forward) { try await keyed.transform(5, for: "closed") }
            await #expect(throws: Refusal.inverse) { try await keyed.inverseTransform("k5", for: "other") }
        }
        let plain = KeyAwareTransformer(Self.keyedForward)
        let suspending = KeyAwareTransformer<String, Int, String> { key, number in
            await Task.yield()
            return try Self.keyedForward(key, number)
        }
        for oneWay in [plain, suspending] {
            #expect(try await oneWay.transform(5, for: "k") == "k5")
            await #expect(throws: Refusal.forward) { try await oneWay.transform(5, for: "closed") }
        }
    }

    @Test("A126 made from a plain transformer, the key is ignored")
    func fromPlain() async throws {
        for transformer in both {
            let keyed = KeyAwareTwoWayTransformer<String, Int, String>(transformer)
            for key in ["a", "b"] {
                #expect(try await keyed.transform(5, for: key) == "5")
                #expect(try await keyed.inverseTransform("5", for: key) == 5)
            }
            let oneWay = KeyAwareTransformer<String, Int, String>(transformer.oneWay)
            #expect(try await oneWay.transform(5, for: "a") == "5")
        }
    }

    @Test("A127 inverted, the directions swap, and the key's condition is kept")
    func keyAwareInverted() async throws {
        for inverted in bothKeyed.map({ $0.inverted() }) {
            #expect(try await inverted.transform("k5", for: "k") == 5)
            #expect(try await inverted.inverseTransform(5, for: "k") == "k5")
            await #expect(throws: Refusal.forward) { try await inverted.inverseTransform(5, for: "closed") }
        }
    }
}
