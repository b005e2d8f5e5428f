package import Strata

/// What lies under a value key: a value, a remembered absence or a remembered failure, with everything that is needed to
/// trust it. Format version 1, little-endian:
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 3 | magic `d7 53 54` |
/// | 3 | 1 | format version, 1 |
/// | 4 | 1 | kind: 0 value, 1 absence, 2 failure |
/// | 5 | 1 | codec |
/// | 6 | 1 | compression: 0 none, 1 zlib, 2 zstd |
/// | 7 | 1 | protection: 0 none, 1 AES-GCM, 2 ChaChaPoly, 3 HMAC-SHA-256 |
/// | 8 | 4 | schema number of the value's type |
/// | 12 | 8 | XXH64 of the full key |
/// | 20 | 16 | version stamp, random for each write |
/// | 36 | 8 | stored at, in milliseconds of the server's clock since 1970 |
/// | 44 | 8 | fresh until |
/// | 52 | 8 | stale until |
/// | 60 | 4 | how long the fetch took, in microseconds |
/// | 64 | 8 | as-of sequence number |
/// | 72 | 2 | length of the tags |
/// | 74 | 4 | length of the payload |
/// | 78 | 8 | XXH64 of the payload, seeded with that of the tags, seeded with that of the 78 bytes before |
/// | 86 | | tags, each with a length of two bytes before it, then the payload |
///
/// Whatever does not fit is a miss and is not deleted: it may be a newer release's. What a newer release has written is not
/// replaced by a fetch either.
package struct Envelope: Sendable, Hashable {
    /// What the envelope says of its key.
    package enum Kind: UInt8, Sendable {
        case value = 0
        case absence = 1
        case failure = 2
    }

    package var kind: Kind
    package var codec: UInt8
    package var compression: UInt8 = 0
    package var protection: UInt8 = 0
    package var schema: UInt32 = 0
    package var keyHash: UInt64
    package var version: EntryVersion
    /// Milliseconds of the server's clock since 1970.
    package var storedAt: Int64
    package var freshUntil: Int64
    package var staleUntil: Int64
    /// Microseconds, as many as fit.
    package var fetchDuration: UInt32 = 0
    package var asOf: UInt64 = 0
    package var tags: [String] = []
    package var payload: [UInt8] = []

    static let magic: [UInt8] = [0xd7, 0x53, 0x54]
    static let formatVersion: UInt8 = 1
    static let headerSize = 86
    /// How much of the header the checksum covers: all that stands before it.
    static let checksummedSize = 78
    /// Where the version stamp is, for reading it alone.
    static let versionRange = 20..<36

    package init(
        kind: Kind,
        codec: UInt8,
        keyHash: UInt64,
        version: EntryVersion,
        storedAt: Int64,
        freshUntil: Int64,
        staleUntil: Int64,
        payload: [UInt8] = []
    ) {
        self.kind = kind
        self.codec = codec
        self.keyHash = keyHash
        self.version = version
        self.storedAt = storedAt
        self.freshUntil = freshUntil
        self.staleUntil = staleUntil
        self.payload = payload
    }
}

/// Why bytes under a value key are no envelope of that key.
///
/// Each is a miss.
package enum EnvelopeFault: Error, Sendable, Hashable, CaseIterable {
    /// Too short, or lengths that do not add up.
    case truncated
    /// No magic: something else lies there.
    case foreign
    /// A format of a later release.
    case newerFormat
    /// A kind that this release does not have, or another codec, compression or protection than the level's.
    case unknownContent
    /// A lower schema number than the level's, and no migration from it.
    case olderSchema
    /// A higher schema number than the level's.
    case newerSchema
    /// The envelope of another key.
    case otherKey
    /// The checksum does not fit.
    case damaged
    /// The codec cannot decode the payload.
    case undecodable
}
