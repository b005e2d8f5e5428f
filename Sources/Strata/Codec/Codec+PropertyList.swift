#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Codec where Value: Codable {
    /// Any Codable value as a binary property list, as Apple's systems have them.
    ///
    /// Larger and slower than ``cbor``: for bytes that others write or read. At the top a property list has a dictionary or an
    /// array; a single number, text or date is refused. `Data` and `Date` are kept as such.
    public static var propertyList: Codec {
        Codec(identifier: 5) { value in
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            return try Array(encoder.encode(value))
        } decode: { bytes in
            try PropertyListDecoder().decode(Value.self, from: Data(bytes))
        }
    }
}
