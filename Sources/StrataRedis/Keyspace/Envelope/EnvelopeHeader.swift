internal import Strata

/// The header of an envelope of format 1: its raw numbers, unchecked.
package struct EnvelopeHeader: Sendable, Hashable {
    /// The number of an ``Envelope/Kind``, if it is one.
    package let kind: UInt8
    package let codec: UInt8
    package let compression: UInt8
    package let protection: UInt8
    package let schema: UInt32
    package let keyHash: UInt64
    package let versionHigh: UInt64
    package let versionLow: UInt64
    /// Milliseconds of the server's clock since 1970.
    package let storedAt: Int64
    package let freshUntil: Int64
    package let staleUntil: Int64
    /// Microseconds.
    package let fetchDuration: UInt32
    package let asOf: UInt64
    package let tagsLength: UInt16
    package let payloadLength: UInt32
    package let checksum: UInt64

    /// Reads the fields; `nil` when the bytes end before them.
    ///
    /// The caller checks magic and format.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Envelope.headerSize else { return nil }
        kind = bytes[4]
        codec = bytes[5]
        compression = bytes[6]
        protection = bytes[7]
        schema = bytes.littleEndian(at: 8, as: UInt32.self)
        keyHash = bytes.littleEndian(at: 12, as: UInt64.self)
        versionHigh = bytes.littleEndian(at: 20, as: UInt64.self)
        versionLow = bytes.littleEndian(at: 28, as: UInt64.self)
        storedAt = bytes.littleEndian(at: 36, as: Int64.self)
        freshUntil = bytes.littleEndian(at: 44, as: Int64.self)
        staleUntil = bytes.littleEndian(at: 52, as: Int64.self)
        fetchDuration = bytes.littleEndian(at: 60, as: UInt32.self)
        asOf = bytes.littleEndian(at: 64, as: UInt64.self)
        tagsLength = bytes.littleEndian(at: 72, as: UInt16.self)
        payloadLength = bytes.littleEndian(at: 74, as: UInt32.self)
        checksum = bytes.littleEndian(at: Envelope.checksummedSize, as: UInt64.self)
    }

    /// The length of the whole envelope according to the header.
    var size: Int { Envelope.headerSize + Int(tagsLength) + Int(payloadLength) }
}

extension [UInt8] {
    /// The number at `offset`; the caller has checked that it is there.
    func littleEndian<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
        withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}
