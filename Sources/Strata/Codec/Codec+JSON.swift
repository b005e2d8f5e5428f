#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Codec where Value: Codable {
    /// Any Codable value as JSON: readable by people and other programs, and the default.
    ///
    /// Keys are sorted, so that equal values have equal bytes; dates are seconds since 1970 as a number.
    public static var json: Codec {
        Codec(identifier: 3) { value in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .secondsSince1970
            return try Array(encoder.encode(value))
        } decode: { bytes in
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            return try decoder.decode(Value.self, from: Data(bytes))
        }
    }
}
