/// An input as a row of choices; beyond its end every choice is zero, which is made to mean what is usual.
struct FuzzInput: Sendable {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) {
        rest = Array(bytes)[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func choice(_ count: Int) -> Int { Int(byte()) % count }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// A run of bytes behind its length.
    mutating func run() -> [UInt8] {
        let count = Int(byte())
        return bytes(count)
    }

    mutating func takeRest() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// Any number.
    mutating func number() -> Int64 {
        bytes(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// A number that is usual, or one at which arithmetic gets into trouble, or any.
    mutating func number(_ usual: Int64) -> Int64 {
        let choice = Int(byte())
        switch choice {
        case ..<128: return usual
        case ..<144: return .max
        case ..<160: return .min
        case 255: return number()
        default: return Self.awkward[choice % Self.awkward.count]
        }
    }

    /// The ends of the ranges of integers, in the units in which times are told, and their neighbours.
    private static let awkward: [Int64] = {
        let ends: [Int64] = [0, .min, .max, Int64(Int32.max), Int64(Int32.min), Int64(UInt32.max), 1 << 53]
        let scaled = ends + [1_000, 1_000_000, 1_000_000_000].flatMap { [.min / $0, .max / $0] }
        return scaled.flatMap { [$0 == .min ? $0 : $0 - 1, $0, $0 == .max ? $0 : $0 + 1] } + [8_000_000_000_000_000]
    }()
}
