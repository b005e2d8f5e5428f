import StrataCBOR
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Whatever the bytes are, decoding gives a value or an error.
@Suite("CBOR: hostile bytes")
struct CBORFuzzTests {
    enum Event: Codable, Equatable {
        case none
        case at(Date, by: UUID)
        case note(text: String, weight: Decimal)
    }

    struct Everything: Codable, Equatable {
        var id: Int
        var name: String
        var price: Double
        var ratio: Float?
        var tags: [String]
        var stock: [String: Int]
        var names: [String: String]
        var prices: [String: Double]
        var byNumber: [Int: [Bool]]
        var created: Date
        var link: URL?
        var blob: Data
        var bytes: [UInt8]
        var wide: Int128
        var amount: Decimal
        var events: [Event]
        var inner: [Everything]
        var small: Int8

        static func sample(_ random: inout SplitMix64, depth: Int = 2) -> Everything {
            let texts = [
                "", "a", "tag", "größer", String(repeating: "long ", count: 12), "a key of more than eight bytes",
            ]
            func text(_ random: inout SplitMix64) -> String { texts.randomElement(using: &random) ?? "" }
            let count = Int.random(in: 0...4, using: &random)
            return Everything(
                id: .random(in: .min ... .max, using: &random),
                name: text(&random),
                price: Double(bitPattern: random.next() & 0xBFFF_FFFF_FFFF_FFFF),
                ratio: Bool.random(using: &random) ? 1.5 : nil,
                tags: (0..<count).map { _ in text(&random) },
                stock: Dictionary((0..<count * 6).map { ("\(text(&random))\($0)", $0) }) { first, _ in first },
                names: [text(&random): text(&random)],
                prices: [text(&random): 0.1],
                byNumber: [Int(truncatingIfNeeded: random.next()): [true, false]],
                created: Date(timeIntervalSinceReferenceDate: .random(in: 7e8...9e8, using: &random)),
                link: URL(string: "https://example.com/a"),
                blob: Data(repeating: 3, count: count * 10),
                bytes: [UInt8](repeating: 200, count: count),
                wide: Int128.random(in: .min ... .max, using: &random) >> Int128(count * 20),
                amount: 273.15,
                events: [
                    .none, .at(Date(timeIntervalSince1970: 1.5), by: UUID()), .note(text: text(&random), weight: -3),
                ],
                inner: depth == 0 ? [] : (0..<count % 3).map { _ in sample(&random, depth: depth - 1) },
                small: .random(in: .min ... .max, using: &random)
            )
        }
    }

    /// Decodes bytes as everything there is, and counts what came out.
    private func decodeAll(_ bytes: [UInt8]) -> Int {
        var decoder = CBORDecoder()
        decoder.limits.elements = 10_000
        var decoded = 0
        func attempt<Value: Decodable>(_ type: Value.Type) {
            if (try? decoder.decode(type, from: bytes)) != nil { decoded += 1 }
        }
        attempt(Everything.self)
        attempt([Everything].self)
        attempt(Anything.self)
        attempt([String: [Int]].self)
        attempt([Int: Date].self)
        attempt([String: Int].self)
        attempt([Decimal].self)
        attempt([Date].self)
        attempt(Event.self)
        attempt([UInt8].self)
        attempt([String].self)
        attempt(UUID.self)
        attempt(URL.self)
        attempt(Int8.self)
        attempt(UInt128.self)
        attempt(Double.self)
        decoder.duplicateKeys = .useLast
        attempt([String: Anything].self)
        // What is read as a value can be written, and read again.
        if let value = try? CBORValue(decoding: bytes) {
            decoded += 1
            do {
                let copy = try value.encoded()
                #expect(throws: Never.self) { try CBORValue(decoding: copy) }
            } catch {
                // Two keys that are no text, bytes or integers, equal but not written alike.
                #expect((error as? CBORError)?.code == .duplicateKey)
            }
        }
        return decoded
    }

    @Test("random values come back, and their documents are deterministic")
    func values() throws {
        var random = SplitMix64.printed("values")
        for _ in 0..<60 { try expectRoundTrip(Everything.sample(&random)) }
    }

    @Test("random bytes")
    func randomBytes() {
        var random = SplitMix64.printed("randomBytes")
        var decoded = 0
        for _ in 0..<3000 {
            let length = Int.random(in: 0...40, using: &random)
            decoded += decodeAll((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
        // Some short ones are bound to be documents: else nothing was tested.
        #expect(decoded > 0)
    }

    @Test("documents cut at every place are refused")
    func truncations() throws {
        var random = SplitMix64.printed("truncations")
        let bytes = try CBOREncoder().encode(Everything.sample(&random, depth: 1))
        for length in 0..<bytes.count {
            #expect(throws: CBORError.self) { try CBORDecoder().decode(Everything.self, from: Array(bytes[..<length])) }
        }
    }

    @Test("documents with bits flipped, bytes put in, taken out and replaced")
    func mutations() throws {
        var random = SplitMix64.printed("mutations")
        var survived = 0
        for _ in 0..<40 {
            let original = try CBOREncoder().encode(Everything.sample(&random, depth: 1))
            for _ in 0..<25 {
                var bytes = original
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0: bytes.remove(at: place)
                    case 1: bytes.insert(.random(in: 0...255, using: &random), at: place)
                    case 2:
                        bytes[place] =
                            [0x5F, 0x7F, 0x9F, 0xBF, 0xFF, 0x9B, 0xBB, 0x7B, 0xC2, 0xF6, 0x80, 0xA0]
                            .randomElement(using: &random) ?? 0
                    default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    }
                    if bytes.isEmpty { break }
                }
                survived += decodeAll(bytes)
            }
        }
        #expect(survived > 0)
    }

    @Test("random structures of every form that CBOR has")
    func randomStructures() {
        var random = SplitMix64.printed("randomStructures")
        for _ in 0..<600 {
            var bytes: [UInt8] = []
            appendItem(to: &bytes, &random, depth: 4)
            #expect(decodeAll(bytes) > 0 || hasOddity(bytes))
        }
    }

    /// Whether a document is refused for a repeated key, or text that is not UTF-8: all that the generator gets wrong.
    private func hasOddity(_ bytes: [UInt8]) -> Bool {
        do {
            _ = try CBORValue(decoding: bytes)
            return false
        } catch {
            let code = (error as? CBORError)?.code
            return code == .duplicateKey || code == .invalidText
        }
    }

    private func appendItem(to bytes: inout [UInt8], _ random: inout SplitMix64, depth: Int) {
        let major = UInt8.random(in: 0..<8, using: &random)
        let isIndefinite = Int.random(in: 0..<4, using: &random) == 0
        switch major {
        case 2, 3:
            if isIndefinite {
                bytes.append(major << 5 | 31)
                for _ in 0..<Int.random(in: 0...3, using: &random) { appendString(to: &bytes, &random, major) }
                bytes.append(0xFF)
            } else {
                appendString(to: &bytes, &random, major)
            }
        case 4, 5:
            let count = depth == 0 ? 0 : Int.random(in: 0...20, using: &random) / (5 - depth)
            if isIndefinite {
                bytes.append(major << 5 | 31)
            } else {
                appendHead(to: &bytes, &random, major, UInt64(count))
            }
            for _ in 0..<count * (major == 5 ? 2 : 1) { appendItem(to: &bytes, &random, depth: depth - 1) }
            if isIndefinite { bytes.append(0xFF) }
        case 6:
            appendHead(to: &bytes, &random, 6, [0, 1, 2, 3, 4, 32, 37, 100, 1001].randomElement(using: &random) ?? 0)
            if depth > 0 { appendItem(to: &bytes, &random, depth: depth - 1) } else { bytes.append(0) }
        case 7:
            bytes.append([0xE0, 0xF4, 0xF5, 0xF6, 0xF7].randomElement(using: &random) ?? 0xF6)
        default:
            appendHead(to: &bytes, &random, major, random.next() >> UInt64.random(in: 0..<64, using: &random))
        }
    }

    private func appendString(to bytes: inout [UInt8], _ random: inout SplitMix64, _ major: UInt8) {
        let length = Int.random(in: 0...30, using: &random)
        appendHead(to: &bytes, &random, major, UInt64(length))
        for _ in 0..<length { bytes.append(.random(in: 97...99, using: &random)) }
    }

    /// Writes a head of any length that holds the number.
    private func appendHead(to bytes: inout [UInt8], _ random: inout SplitMix64, _ major: UInt8, _ number: UInt64) {
        let shortest = number < 24 ? 0 : number < 256 ? 1 : number < 65_536 ? 2 : number < 1 << 32 ? 3 : 4
        let form = Int.random(in: shortest...4, using: &random)
        guard form > 0 else {
            bytes.append(major << 5 | UInt8(number))
            return
        }
        bytes.append(major << 5 | UInt8(23 + form))
        for place in (0..<(1 << (form - 1))).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place)))
        }
    }
}
