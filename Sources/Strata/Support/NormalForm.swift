#if canImport(Darwin)
internal import Foundation
#else
// The standard library normalizes strings to compare them, and offers the result to the Foundation of this platform
// only under this name; all of Foundation would bring the tables of ICU into every service.
@_spi(_Unicode) internal import Swift
#endif

/// Unicode's normalization form C (Unicode Standard Annex #15).
package enum NormalForm {
    /// The UTF-8 of `text` in form C.
    package static func composed(_ text: String) -> [UInt8] {
        #if canImport(Darwin)
        Array(text.precomposedStringWithCanonicalMapping.utf8)
        #else
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text._nfc { bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter) }
        return bytes
        #endif
    }
}
