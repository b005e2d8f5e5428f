internal import StrataCBOR

extension Codec where Value: Codable {
    /// Any Codable value as CBOR (RFC 8949): smaller than JSON and several times as fast; see ``/StrataCBOR/CBOREncoder``.
    ///
    /// Equal values have equal bytes. The default limits of ``/StrataCBOR/CBORDecoder`` hold for what is read back.
    public static var cbor: Codec {
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        return Codec(identifier: 4) {
            try encoder.encode($0)
        } decode: {
            try decoder.decode(Value.self, from: $0)
        }
    }
}
