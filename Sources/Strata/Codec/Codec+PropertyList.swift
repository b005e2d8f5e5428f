#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Codec where Value: Codable {
    /// Any Codable value as a binary property list, as Apple's systems have them.
    ///
    /// Larger and slower than ``cbor``: for bytes that others write or read. At the top a property list has a
    /// dictionary or an array; a single number, text or date is refused. `Data` and `Date` are kept as such.
    ///
    /// Bytes are checked before Foundation decodes them: its decoder makes an object of every reference, and a few
    /// kilobytes that refer to themselves can stand for thousands of millions of values. Refused are: more values than
    /// bytes; texts and data of more than 16 MiB, or 64 times the bytes if that is more, in all; nesting deeper than
    /// 512; property lists that are not binary. Foundation writes none of these, except for values that repeat long
    /// texts more often than that.
    ///
    /// Foundation writes `nil` as the text `$null`, and reads that text as `nil`, or not at all where there has to be a
    /// text. Take ``json`` or ``cbor`` where texts come from others.
    public static var propertyList: Codec {
        Codec(identifier: 5) { value in
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            return try Array(encoder.encode(value))
        } decode: { bytes in
            try PropertyListExtent.check(bytes)
            return try PropertyListDecoder().decode(Value.self, from: Data(bytes))
        }
    }
}
