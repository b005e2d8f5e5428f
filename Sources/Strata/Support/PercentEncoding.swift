/// Percent-encoding of single bytes, as in RFC 3986 §2.1 but for other reserved bytes.
@usableFromInline
package enum PercentEncoding {
    /// Appends `bytes`; those for which `isReserved` holds as `%HH`.
    ///
    /// Injective as long as `%` is among them.
    @inlinable
    package static func append(
        _ bytes: [UInt8],
        to target: inout [UInt8],
        where isReserved: (UInt8) -> Bool
    ) {
        guard bytes.contains(where: isReserved) else {
            target += bytes
            return
        }
        for byte in bytes {
            guard isReserved(byte) else {
                target.append(byte)
                continue
            }
            target.append(UInt8(ascii: "%"))
            target.append(digit(byte >> 4))
            target.append(digit(byte & 15))
        }
    }

    /// The bytes that were encoded; `nil` when a `%` begins no escape.
    ///
    /// The digits `a` to `f`, which `append` does not write, count only with `anyCase`.
    package static func decode(_ bytes: some Collection<UInt8>, anyCase: Bool = false) -> [UInt8]? {
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap({ value($0, anyCase) }),
                let low = rest.popFirst().flatMap({ value($0, anyCase) })
            else { return nil }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    @usableFromInline
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func value(_ digit: UInt8, _ anyCase: Bool) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f") where anyCase: digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
