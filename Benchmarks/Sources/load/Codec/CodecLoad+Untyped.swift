import ArgumentParser
import Strata
import StrataCBOR

extension CodecLoad {
    /// One part of an order beside all of it: what stands first in the document, in the middle, and last.
    func measureParts() throws {
        let bytes = try Codec<ShopOrder>.cbor.encode(ShopOrder.sample)
        let decoder = CBORDecoder()
        let parts: [(name: String, read: () throws -> Bool)] = [
            ("whole", { try decoder.decode(ShopOrder.self, from: bytes).id != 0 }),
            ("first", { try decoder.select(Int.self, at: "id", from: bytes) == ShopOrder.sample.id }),
            (
                "middle",
                { try decoder.select(String.self, at: "lines", 10, "title", from: bytes) == "Article number 11" }
            ),
            (
                "last",
                {
                    try decoder.select(String.self, at: "customer", "name", from: bytes)
                        == ShopOrder.sample.customer.name
                }
            ),
        ]
        for part in parts {
            guard try part.read() else { throw ValidationError("the part \(part.name) is not what was written") }
        }
        let times = try medians(parts.map { part in { _ = try part.read() } })
        for (index, part) in parts.enumerated() {
            Measurement(name: "codec.cbor.select.\(part.name)", value: times[index] * 1e6, unit: "µs").print()
            guard index > 0 else { continue }
            Measurement(
                name: "codec.cbor.select.\(part.name).ratio",
                value: times[index] / times[0],
                unit: "of the time of decoding the whole",
                comparedTo: "an order of \(bytes.count) bytes, same run"
            )
            .print()
        }
    }

    /// An order without its type beside the typed one.
    func measureUntyped() throws {
        let codecs: [(name: String, typed: Codec<ShopOrder>, untyped: Codec<JSONValue>)] = [
            ("json", .json, .json), ("cbor", .cbor, .cbor),
        ]
        for codec in codecs {
            let bytes = try codec.typed.encode(ShopOrder.sample)
            let value = try codec.untyped.decode(bytes)
            let times = try medians([
                { _ = try codec.typed.decode(bytes) }, { _ = try codec.untyped.decode(bytes) },
                { _ = try codec.typed.encode(ShopOrder.sample) }, { _ = try codec.untyped.encode(value) },
            ])
            for (place, what) in ["decode", "encode"].enumerated() {
                let (typed, untyped) = (times[2 * place], times[2 * place + 1])
                Measurement(name: "codec.\(codec.name).untyped.\(what)", value: untyped * 1e6, unit: "µs").print()
                Measurement(
                    name: "codec.\(codec.name).untyped.\(what).ratio",
                    value: untyped / typed,
                    unit: "of the typed value's time",
                    comparedTo: "an order with its type, same run"
                )
                .print()
            }
        }
    }
}
