internal import Strata

extension Envelope {
    /// The bytes of a version stamp.
    static func stamp(of version: EntryVersion) -> [UInt8] {
        [version.high, version.low]
            .flatMap { half in
                (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * UInt64($0))) }
            }
    }

    /// The bytes at the place of the version stamp; shorter, or empty, in bytes that are not an envelope.
    static func stamp(of bytes: [UInt8]) -> [UInt8] {
        Array(bytes.dropFirst(versionRange.lowerBound).prefix(versionRange.count))
    }

    /// The version of a stamp; `nil` for bytes of another length.
    static func version(inStamp stamp: [UInt8]) -> EntryVersion? {
        guard stamp.count == versionRange.count else { return nil }
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        return EntryVersion(high: half(stamp[..<8]), low: half(stamp[8...]))
    }
}
