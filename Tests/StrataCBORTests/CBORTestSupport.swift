import StrataCBOR
import Testing

/// Bytes written as hexadecimal digits, blanks ignored.
func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { $0 != " " }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// Hexadecimal digits of bytes.
func hex(_ bytes: [UInt8]) -> String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
}

/// Encodes and decodes a value, and expects it back; whatever is written has to be deterministic CBOR too.
func expectRoundTrip<Value: Codable & Equatable>(
    _ value: Value,
    encoder: CBOREncoder = CBOREncoder(),
    decoder: CBORDecoder = CBORDecoder(),
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let bytes = try encoder.encode(value)
    let copy = try decoder.decode(Value.self, from: bytes)
    #expect(copy == value, sourceLocation: sourceLocation)
    #expect(try CBORValue(decoding: bytes).encoded() == bytes, sourceLocation: sourceLocation)
}

/// A path as text, one word a key.
func path(_ keys: [any CodingKey]) -> String {
    keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
}

/// Reproducible random numbers: SplitMix64 of Sebastiano Vigna.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A generator with a seed that is printed, so that a failure can be repeated.
    static func printed(_ name: String) -> SplitMix64 {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("\(name): seed \(seed)")
        return SplitMix64(seed: seed)
    }
}

/// A decodable that takes anything, the way hand-written "any value" types do: by trying one form after the other.
enum Anything: Decodable, Equatable {
    case null, bool(Bool), int(Int64), double(Double), text(String), list([Anything]), map([String: Anything])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([Anything].self) {
            self = .list(value)
        } else {
            self = .map(try container.decode([String: Anything].self))
        }
    }
}
