internal import Strata

extension Envelope {
    /// The envelope as bytes.
    ///
    /// - Throws: ``/Strata/CacheError/Code/tooLarge`` when the tags or the payload are too long for their length
    ///   fields.
    package func encoded() throws -> [UInt8] {
        var labels: [UInt8] = []
        for tag in tags {
            let utf8 = Array(tag.utf8)
            guard utf8.count <= Int(UInt16.max) else { throw Self.tooLarge("a tag") }
            labels.append(littleEndian: UInt16(utf8.count))
            labels += utf8
        }
        guard labels.count <= Int(UInt16.max) else { throw Self.tooLarge("the list of tags") }
        guard payload.count <= Int(Int32.max) else { throw Self.tooLarge("the value") }

        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerSize + labels.count + payload.count)
        bytes += Self.magic
        bytes += [Self.formatVersion, kind.rawValue, codec, compression, protection]
        bytes.append(littleEndian: schema)
        bytes.append(littleEndian: keyHash)
        bytes.append(littleEndian: version.high)
        bytes.append(littleEndian: version.low)
        bytes.append(littleEndian: storedAt)
        bytes.append(littleEndian: freshUntil)
        bytes.append(littleEndian: staleUntil)
        bytes.append(littleEndian: fetchDuration)
        bytes.append(littleEndian: asOf)
        bytes.append(littleEndian: UInt16(labels.count))
        bytes.append(littleEndian: UInt32(payload.count))
        bytes.append(littleEndian: Self.checksum(header: bytes, labels, payload))
        bytes += labels
        bytes += payload
        return bytes
    }

    /// Reads an envelope.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - expected: The hash of the key under which it was found; `nil` to take any.
    /// - Throws: Why the bytes are not an envelope of that key.
    package init(_ bytes: [UInt8], keyHash expected: UInt64?) throws(EnvelopeFault) {
        guard bytes.count >= 4 else { throw .truncated }
        guard bytes.starts(with: Self.magic) else { throw .foreign }
        guard bytes[3] >= 1 else { throw .foreign }
        guard bytes[3] == Self.formatVersion else { throw .newerFormat }
        guard let header = EnvelopeHeader(bytes), bytes.count == header.size else { throw .truncated }

        let labels = Array(bytes[Self.headerSize..<(Self.headerSize + Int(header.tagsLength))])
        let payload = Array(bytes[(Self.headerSize + labels.count)...])
        let checksum = Self.checksum(header: Array(bytes[..<Self.checksummedSize]), labels, payload)
        guard header.checksum == checksum else { throw .damaged }
        guard let kind = Kind(rawValue: header.kind) else { throw .unknownContent }
        guard expected == nil || expected == header.keyHash else { throw .otherKey }

        self.init(
            kind: kind,
            codec: header.codec,
            keyHash: header.keyHash,
            version: EntryVersion(high: header.versionHigh, low: header.versionLow),
            storedAt: header.storedAt,
            freshUntil: header.freshUntil,
            staleUntil: header.staleUntil,
            payload: payload
        )
        compression = header.compression
        protection = header.protection
        schema = header.schema
        fetchDuration = header.fetchDuration
        asOf = header.asOf
        tags = try Self.tags(labels)
    }

    static func tags(_ labels: [UInt8]) throws(EnvelopeFault) -> [String] {
        var tags: [String] = []
        var offset = 0
        while offset < labels.count {
            guard offset + 2 <= labels.count else { throw .truncated }
            let end = offset + 2 + Int(labels.littleEndian(at: offset, as: UInt16.self))
            guard end <= labels.count else { throw .truncated }
            guard let tag = String(validating: labels[(offset + 2)..<end], as: UTF8.self) else { throw .damaged }
            tags.append(tag)
            offset = end
        }
        return tags
    }

    static func checksum(header: [UInt8], _ labels: [UInt8], _ payload: [UInt8]) -> UInt64 {
        XXH64.hash(payload, seed: XXH64.hash(labels, seed: XXH64.hash(header)))
    }

    private static func tooLarge(_ what: String) -> CacheError {
        CacheError(code: .tooLarge, message: "\(what) is larger than an envelope can hold")
    }
}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(littleEndian value: Number) {
        var value = value.littleEndian
        Swift.withUnsafeBytes(of: &value) { append(contentsOf: $0) }
    }
}
