/// A span in the form by which other processes can refer to it: the field `traceparent` of W3C Trace Context, level 1.
///
/// It holds random numbers and a flag, and nothing of the read itself.
package struct TraceParent: Sendable, Hashable {
    /// The length of every field, in bytes.
    package static let length = 55

    /// The field: version, trace, span and flags in hexadecimal, joined by hyphens.
    package let text: String

    /// Reads a field; `nil` when the bytes are not one.
    ///
    /// Another program may have written them, so they must have the form to the letter: lower case, neither a trace nor
    /// a span of zeros alone, and no version `ff`.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2], parts.joined().allSatisfy(Self.isDigit),
            parts[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } }), !parts[0].elementsEqual("ff".utf8)
        else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// The trace that the span belongs to, in hexadecimal.
    package var trace: String { String(text.dropFirst(3).prefix(32)) }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
