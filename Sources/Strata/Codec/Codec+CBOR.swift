internal import StrataCBOR

extension Codec where Value: Codable {
    /// Any Codable value as CBOR (RFC 8949): smaller than JSON and several times as fast; see
    /// ``/StrataCBOR/CBOREncoder``.
    ///
    /// Equal values have equal bytes. The default limits of ``/StrataCBOR/CBORDecoder`` hold when values are read back,
    /// and encoding a value beyond them fails.
    public static var cbor: Codec {
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        return Codec(identifier: 4) {
            let bytes = try encoder.encode($0)
            // Each element takes a byte at least, and no other limit is reached before.
            if bytes.count > decoder.limits.elements { try decoder.check(bytes) }
            return bytes
        } decode: {
            try decoder.decode(Value.self, from: $0)
        }
    }
}
