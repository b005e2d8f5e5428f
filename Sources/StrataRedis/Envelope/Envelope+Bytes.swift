internal import Strata

extension Envelope {
    /// The envelope as bytes.
    ///
    /// - Throws: ``CacheError/Code/tooLarge`` when the tags or the payload exceed what their lengths can say.
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
        bytes += [Self.formatVersion, kind.rawValue, codec, compression, flags]
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
    ///   - bytes: What was found.
    ///   - expected: The hash of the key under which it was found; `nil` to take any.
    /// - Throws: Why the bytes are no envelope of that key.
    package init(_ bytes: [UInt8], keyHash expected: UInt64?) throws(EnvelopeFault) {
        guard bytes.count >= 4 else { throw .truncated }
        guard bytes.starts(with: Self.magic) else { throw .foreign }
        guard bytes[3] >= 1 else { throw .foreign }
        guard bytes[3] == Self.formatVersion else { throw .newerFormat }
        guard bytes.count >= Self.headerSize else { throw .truncated }
        let labelCount = Int(bytes.littleEndian(at: 72, as: UInt16.self))
        let payloadCount = Int(bytes.littleEndian(at: 74, as: UInt32.self))
        guard bytes.count == Self.headerSize + labelCount + payloadCount else { throw .truncated }

        let labels = Array(bytes[Self.headerSize..<(Self.headerSize + labelCount)])
        let payload = Array(bytes[(Self.headerSize + labelCount)...])
        let checksum = Self.checksum(header: Array(bytes[..<78]), labels, payload)
        guard bytes.littleEndian(at: 78, as: UInt64.self) == checksum else { throw .damaged }
        guard let kind = Kind(rawValue: bytes[4]), bytes[6] == 0, bytes[7] == 0 else { throw .unknownContent }
        let keyHash = bytes.littleEndian(at: 12, as: UInt64.self)
        guard expected == nil || expected == keyHash else { throw .otherKey }

        self.init(
            kind: kind,
            codec: bytes[5],
            keyHash: keyHash,
            version: EntryVersion(
                high: bytes.littleEndian(at: 20, as: UInt64.self),
                low: bytes.littleEndian(at: 28, as: UInt64.self)
            ),
            storedAt: bytes.littleEndian(at: 36, as: Int64.self),
            freshUntil: bytes.littleEndian(at: 44, as: Int64.self),
            staleUntil: bytes.littleEndian(at: 52, as: Int64.self),
            payload: payload
        )
        schema = bytes.littleEndian(at: 8, as: UInt32.self)
        fetchDuration = bytes.littleEndian(at: 60, as: UInt32.self)
        asOf = bytes.littleEndian(at: 64, as: UInt64.self)
        tags = try Self.tags(labels)
    }

    private static func tags(_ labels: [UInt8]) throws(EnvelopeFault) -> [String] {
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

    private static func checksum(header: [UInt8], _ labels: [UInt8], _ payload: [UInt8]) -> UInt64 {
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

    /// The number at `offset`; the caller has checked that it is there.
    fileprivate func littleEndian<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
        withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}
