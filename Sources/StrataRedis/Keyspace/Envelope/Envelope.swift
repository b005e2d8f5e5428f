package import Strata

/// The content of a value key: a value, a remembered absence or a remembered failure, with everything that a reader
/// needs to trust it.
///
/// The bytes of format version 1 are described in docs/internals/wire-format.md, which a test compares with this code.
///
/// Bytes that do not fit are a miss. Nothing deletes them, because a newer release may have written them, and a fetch
/// does not replace what a newer release has written.
package struct Envelope: Sendable, Hashable {
    /// What the envelope says about its key.
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
    /// The part of the header that the checksum covers: all bytes before it.
    static let checksummedSize = 78
    /// The place of the version stamp, for reading it alone.
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

/// Why bytes under a value key are not an envelope of that key.
///
/// Each is a miss.
package enum EnvelopeFault: Error, Sendable, Hashable, CaseIterable {
    /// Too short, or lengths that do not add up.
    case truncated
    /// No magic: the bytes come from another program.
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
