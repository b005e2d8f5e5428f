// The samples of docs/cbor.md; `.ci/snippets` compares the two.

import StrataCBOR

struct Line: Codable {
    var title: String
    var cents: Int
}

struct Product: Codable {
    var id: Int
    var name: String
}

func copy(of product: Product) throws {
    // snippet.cbor-coders
    let bytes = try CBOREncoder().encode(product)  // [UInt8]
    let copy = try CBORDecoder().decode(Product.self, from: bytes)
    // snippet.end
    _ = copy
}

func parts(of bytes: [UInt8]) throws {
    // snippet.cbor-select
    let city = try CBORDecoder().select(String.self, at: "customer", "billing", "city", from: bytes)  // String?
    let third = try CBORDecoder().select(Line.self, at: "lines", 2, from: bytes)
    // snippet.end
    _ = (city, third)
}
