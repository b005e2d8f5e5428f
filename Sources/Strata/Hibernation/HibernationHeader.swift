/// The beginning of a file of hibernated entries; `docs/internals/hibernation-file.md` has its form.
struct HibernationHeader: Sendable, Hashable {
    static let magic: [UInt8] = [0xd7, 0x53, 0x54, 0x48]
    static let format: UInt8 = 1
    static let size = 64
    /// What the checksum covers: all bytes before it.
    private static let checkedSize = 56

    let codec: UInt8
    let compression: UInt8
    let protection: UInt8
    let schema: UInt32
    /// Tells the records of this file from those of all others.
    let identity: UInt64
    /// Milliseconds since 1970 by the clock of the machine that has written it.
    let writtenAt: Int64
    /// The hash of the cache's name.
    let nameHash: UInt64
    /// How many entries the writer meant to write.
    let planned: UInt64

    var bytes: [UInt8] {
        var bytes = Self.magic + [Self.format, codec, compression, protection]
        bytes.append(littleEndian: schema)
        bytes.append(littleEndian: 0 as UInt32)
        bytes.append(littleEndian: identity)
        bytes.append(littleEndian: writtenAt)
        bytes.append(littleEndian: nameHash)
        bytes.append(littleEndian: planned)
        bytes.append(littleEndian: 0 as UInt64)
        bytes.append(littleEndian: XXH64.hash(bytes))
        return bytes
    }

    init(_ codec: Codec<some Sendable>, name: [UInt8], planned: Int, writtenAt: Int64) {
        self.codec = codec.identifier
        compression = codec.compression?.identifier ?? 0
        protection = codec.protection?.identifier ?? 0
        schema = codec.schema
        identity = .random(in: .min ... .max)
        self.writtenAt = writtenAt
        nameHash = XXH64.hash(name)
        self.planned = UInt64(max(planned, 0))
    }

    /// Reads the first bytes of a file.
    ///
    /// - Throws: ``HibernationError/Code/foreign``, ``HibernationError/Code/newerFormat``,
    ///   ``HibernationError/Code/damaged``.
    init(_ bytes: [UInt8]) throws(HibernationError) {
        guard bytes.starts(with: Self.magic), bytes.count > Self.magic.count, bytes[4] >= 1 else {
            throw HibernationError(.foreign, "the file was not written by this library")
        }
        guard bytes[4] <= Self.format else {
            throw HibernationError(.newerFormat, "the file has format \(bytes[4])")
        }
        guard bytes.count >= Self.size,
            XXH64.hash(Array(bytes[..<Self.checkedSize])) == bytes.littleEndian(at: Self.checkedSize, as: UInt64.self)
        else { throw HibernationError(.damaged, "the beginning of the file is damaged") }
        codec = bytes[5]
        compression = bytes[6]
        protection = bytes[7]
        schema = bytes.littleEndian(at: 8, as: UInt32.self)
        identity = bytes.littleEndian(at: 16, as: UInt64.self)
        writtenAt = bytes.littleEndian(at: 24, as: Int64.self)
        nameHash = bytes.littleEndian(at: 32, as: UInt64.self)
        planned = bytes.littleEndian(at: 40, as: UInt64.self)
    }

    /// A value's bytes with the numbers of this file beside them.
    func encoded(_ payload: [UInt8]) -> EncodedValue {
        EncodedValue(
            bytes: payload,
            codec: codec,
            compression: compression,
            protection: protection,
            schema: schema
        )
    }
}

extension [UInt8] {
    mutating func append<Number: FixedWidthInteger>(littleEndian value: Number) {
        var value = value.littleEndian
        unsafe Swift.withUnsafeBytes(of: &value) { unsafe append(contentsOf: $0) }
    }

    /// The number at `offset`; the caller has checked that it is there.
    func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
        unsafe withUnsafeBytes { unsafe Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}
