/// Why an entry has left a memory level.
///
/// More may be added.
public struct RemovalCause: Sendable, Hashable, CustomStringConvertible {
    @usableFromInline let number: UInt8

    @inlinable
    init(number: UInt8) {
        self.number = number
    }

    /// It was evicted for others.
    @inlinable public static var size: RemovalCause { RemovalCause(number: 0) }
    /// Its lifetime was over.
    @inlinable public static var expired: RemovalCause { RemovalCause(number: 1) }
    /// It was not read for the level's `idleLifetime`.
    @inlinable public static var idle: RemovalCause { RemovalCause(number: 2) }
    /// Another entry of the same key has taken its place.
    @inlinable public static var replaced: RemovalCause { RemovalCause(number: 3) }
    /// The key was removed.
    @inlinable public static var removed: RemovalCause { RemovalCause(number: 4) }
    /// The level was emptied.
    @inlinable public static var cleared: RemovalCause { RemovalCause(number: 5) }
    /// The process was short of memory.
    @inlinable public static var pressure: RemovalCause { RemovalCause(number: 6) }

    static let names = ["size", "expired", "idle", "replaced", "removed", "cleared", "pressure"]

    /// The name, as metrics show it.
    public var description: String { Self.names[Int(number)] }
}
