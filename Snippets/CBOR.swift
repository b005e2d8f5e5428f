// The samples of docs/cbor.md; `.ci/snippets` compares the two.

import StrataCBOR

struct Line: Codable {
    var title: String
    var cents: Int
}

func parts(of bytes: [UInt8]) throws {
    // snippet.cbor-select
    let city = try CBORDecoder().select(String.self, at: "customer", "billing", "city", from: bytes)  // String?
    let third = try CBORDecoder().select(Line.self, at: "lines", 2, from: bytes)
    // snippet.end
    _ = (city, third)
}
