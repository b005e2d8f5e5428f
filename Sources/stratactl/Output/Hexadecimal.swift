/// Bytes as hexadecimal digits.
enum Hexadecimal {
    /// Two digits a byte and nothing between them.
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
    }

    /// Lines of 16 bytes with their offset, and the bytes as text where they are printable ASCII.
    static func dump(_ bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: 16)
            .map { start in
                let row = bytes[start..<min(start + 16, bytes.count)]
                let offset = text((0..<4).reversed().map { UInt8(truncatingIfNeeded: start >> ($0 * 8)) })
                let halves = [row.prefix(8), row.dropFirst(8)]
                    .map { half in
                        half.map { text([$0]) }.joined(separator: " ")
                    }
                let digits = halves.joined(separator: "  ")
                let readable = row.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: ".") }
                let gap = String(repeating: " ", count: max(0, 48 - digits.count) + 2)
                return "\(offset)  \(digits)\(gap)|\(String(decoding: readable, as: UTF8.self))|"
            }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
