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
