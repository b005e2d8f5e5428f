internal import Strata

extension Envelope {
    /// The bytes at the place of the version stamp; shorter, or empty, in bytes that are not an envelope.
    static func stamp(of bytes: [UInt8]) -> [UInt8] {
        Array(bytes.dropFirst(versionRange.lowerBound).prefix(versionRange.count))
    }

    /// The version of a stamp; `nil` for bytes of another length.
    static func version(inStamp stamp: [UInt8]) -> EntryVersion? { EntryVersion(bytes: stamp) }
}
