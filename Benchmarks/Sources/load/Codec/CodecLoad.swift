import ArgumentParser
import Strata

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Measures CBOR beside JSON and binary property lists, on a small product, a nested document and a list of a thousand.
struct CodecLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "codec",
        abstract: "Encoding and decoding: CBOR and binary property lists beside JSON."
    )

    @Option(help: "How often each coder takes its turn.")
    var rounds = 301

    mutating func run() async throws {
        try measure("product", ShopProduct.sample())
        try measure("document", ShopOrder.sample)
        try measure("list", ShopRow.list)
        try measureParts()
        try measureUntyped()
    }

    /// Times the coders in turn, so that a busy machine slows all of them alike, and takes medians.
    private func measure<Value: Codable & Equatable & Sendable>(_ shape: String, _ value: Value) throws {
        let codecs: [(name: String, codec: Codec<Value>)] = [
            ("json", .json), ("cbor", .cbor), ("plist", .propertyList),
        ]
        let bytes = try codecs.map { try $0.codec.encode(value) }
        for (codec, bytes) in zip(codecs, bytes) {
            guard try codec.codec.decode(bytes) == value else {
                throw ValidationError("\(codec.name) does not bring \(shape) back")
            }
        }
        let encode = try medians(codecs.map { codec in { _ = try codec.codec.encode(value).count } })
        let decode = try medians(zip(codecs, bytes).map { codec, bytes in { _ = try codec.codec.decode(bytes) } })
        for (index, codec) in codecs.enumerated() {
            report("codec.\(codec.name).encode", encode[index] * 1e6, "µs", shape)
            report("codec.\(codec.name).decode", decode[index] * 1e6, "µs", shape)
            report("codec.\(codec.name).size", Double(bytes[index].count), "bytes", shape)
            guard index > 0 else { continue }
            report("codec.\(codec.name).encode.ratio", encode[index] / encode[0], "of JSON's time", shape)
            report("codec.\(codec.name).decode.ratio", decode[index] / decode[0], "of JSON's time", shape)
            let size = Double(bytes[index].count) / Double(bytes[0].count)
            report("codec.\(codec.name).size.ratio", size, "of JSON's size", shape)
        }
    }

    func report(_ name: String, _ value: Double, _ unit: String, _ shape: String) {
        Measurement(name: name, value: value, unit: unit, comparedTo: "JSON by FoundationEssentials, \(shape)").print()
    }

    /// The median seconds a call of each body, out of rounds in which all of them take their turn.
    func medians(_ bodies: [() throws -> Void]) throws -> [Double] {
        let clock = ContinuousClock()
        var batches: [Int] = []
        for body in bodies {
            for _ in 0..<20 { try body() }
            let once = try clock.measure { for _ in 0..<20 { try body() } } / 20
            // Long enough to drown the cost of reading the clock, short enough to fit between two turns of others.
            batches.append(max(1, Int(.microseconds(200) / once)))
        }
        var samples = [[Double]](repeating: [], count: bodies.count)
        for _ in 0..<max(1, rounds) {
            for (index, body) in bodies.enumerated() {
                let time = try clock.measure { for _ in 0..<batches[index] { try body() } }
                samples[index].append((time / .seconds(1)) / Double(batches[index]))
            }
        }
        return samples.map(\.median)
    }
}
