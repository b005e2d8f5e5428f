@testable import Strata
@testable import StrataRedis

/// What may lie under a value key, as it stands, and with its lengths and its checksum put right.
func fuzzEnvelopes(_ bytes: [UInt8]) {
    var input = FuzzInput(bytes)
    switch input.choice(3) {
    case 0: look(at: input.takeRest())
    case 1: look(at: repaired(&input))
    default: decode(input.takeRest())
    }
}

/// An envelope whose fields are the input's and whose frame is sound.
private func repaired(_ input: inout FuzzInput) -> [UInt8] {
    let tags = input.run()
    var header = input.bytes(Envelope.checksummedSize)
    header += [UInt8](repeating: 0, count: Envelope.checksummedSize - header.count)
    let payload = input.takeRest()
    header.replaceSubrange(0..<4, with: Envelope.magic + [Envelope.formatVersion])
    header[4] %= 4
    header.replaceSubrange(72..<78, with: littleEndian(UInt16(tags.count)) + littleEndian(UInt32(payload.count)))
    return header + littleEndian(Envelope.checksum(header: header, tags, payload)) + tags + payload
}

private func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
}

private func look(at bytes: [UInt8]) {
    _ = (Envelope.stamp(of: bytes), Envelope.version(inStamp: Envelope.stamp(of: bytes)))
    for size in [bytes.count, bytes.count + 1, 1 << 30] {
        let inspection = EnvelopeInspection(bytes, size: size, keyHash: 1)
        _ = (inspection.kind, inspection.version, inspection.fault?.explanation)
        let entry = EntryInspection(
            key: InspectedKey([1], in: "fuzz"),
            content: .envelope(inspection),
            invalidation: nil,
            timeToLive: .unlimited,
            serverTime: 0
        )
        _ = entry.state
    }
    guard let envelope = try? Envelope(bytes, keyHash: nil) else { return }
    require((try? envelope.encoded()) == bytes, "an envelope is not written as it was read")
    require((try? Envelope(bytes, keyHash: envelope.keyHash &+ 1)) == nil, "another key's envelope is taken")
    for offset in [0, 1, -1, .min, .max, Int64(bitPattern: envelope.asOf)] {
        for milliseconds in [envelope.storedAt, envelope.freshUntil, envelope.staleUntil] {
            let instant = MonotonicInstant(serverMilliseconds: milliseconds, offset: offset)
            _ = (instant.serverMilliseconds(offset: offset), MonotonicInstant.now.duration(to: instant))
        }
    }
    let entry = Entry(
        .value(0),
        freshUntil: MonotonicInstant(serverMilliseconds: envelope.freshUntil, offset: 0),
        staleUntil: MonotonicInstant(serverMilliseconds: envelope.staleUntil, offset: 0),
        storedAt: MonotonicInstant(serverMilliseconds: envelope.storedAt, offset: 0),
        version: envelope.version,
        tags: envelope.tags,
        fetchDuration: .microseconds(Int64(envelope.fetchDuration))
    )
    for policy in policies {
        var completed = entry
        policy.complete(&completed)
        _ = ReadRequest().verdict(on: completed, at: .now)
        _ = (completed.isFresh(at: .now), completed.isUsable(at: .distantFuture))
    }
}

private let policies = [
    FreshnessPolicy(),
    FreshnessPolicy(
        freshFor: .seconds(Int64.max),
        staleWhileRevalidate: .seconds(Int64.max),
        staleIfError: .seconds(1),
        earlyRefresh: 0.5
    ),
]

/// A payload of every shape that codecs are asked for.
private struct Everything: Codable, Equatable, Sendable {
    enum Event: Codable, Equatable, Sendable {
        case none
        case note(text: String, weight: Int)
    }

    var number: Int
    var small: Int8?
    var ratio: Double
    var text: String
    var numbers: [Int]
    var byName: [String: Float]
    var byNumber: [Int: Bool]
    var events: [Event]
    var inner: [Everything]
}

private func decode(_ bytes: [UInt8]) {
    _ = try? Codec<String>.text.decode(bytes)
    check(.cbor, bytes, as: Everything.self)
    check(.cbor, bytes, as: [String: [Int64]].self)
    check(.cbor, bytes, as: Double.self)
    check(.json, bytes, as: Everything.self)
    check(.json, bytes, as: [String].self)
}

private func check<Value: Codable & Sendable>(_ codec: Codec<Value>, _ bytes: [UInt8], as type: Value.Type) {
    guard let value = try? codec.decode(bytes), let encoded = try? codec.encode(value) else { return }
    require((try? codec.decode(encoded)) != nil, "\(type) is written as what cannot be read")
}
