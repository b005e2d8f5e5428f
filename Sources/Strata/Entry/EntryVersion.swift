/// A random 128-bit stamp that tells one write of an entry from every other.
@frozen
public struct EntryVersion: Sendable, Hashable {
    /// The upper half.
    public let high: UInt64
    /// The lower half.
    public let low: UInt64

    /// A stamp of two halves.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The stamp of entries that were never written to a shared level.
    @inlinable
    public static var none: EntryVersion { EntryVersion(high: 0, low: 0) }

    /// A new stamp from the system's generator.
    public static func random() -> EntryVersion {
        EntryVersion(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
    }
}

extension EntryVersion {
    /// The stamp as bytes, the upper half first; each half in little-endian order.
    package var bytes: [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * UInt64($0))) } }
    }

    /// The stamp of such bytes; `nil` for another number of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: half(bytes[..<8]), low: half(bytes[8...]))
    }
}
