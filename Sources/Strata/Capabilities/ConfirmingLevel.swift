/// A level that other processes share, and that can tell whether an entry which an earlier process kept is still what it
/// holds, without moving the value.
///
/// A level around another one hands the calls on; one that cannot answers `nil` to ``confirmation``.
package protocol ConfirmingLevel<Key, Value>: CacheLevel {
    // Declared again, so that the protocol can name them.
    associatedtype Key
    associatedtype Value

    /// By what entries of this level are known outside this process; `nil` where no level here can confirm.
    var confirmation: ConfirmationPlace<Key, Value>? { get }

    /// Waits until changes made elsewhere are told, or as long as it may.
    ///
    /// - Throws: What keeps the level from being asked; `CancellationError`.
    func readyToConfirm(within limit: Duration) async throws

    /// What has become of entries, in their order; all of them are asked for together.
    ///
    /// What is confirmed bears a ticket that was taken before the level was asked, and a seal, as an entry that was read.
    ///
    /// - Throws: What keeps the level from being asked; `CancellationError`.
    func confirm(_ held: [HeldEntry<Key>]) async throws -> [EntryConfirmation]
}

/// A level around others, of which one may be able to confirm: all that is asked goes to that one.
package protocol ConfirmationRelay: ConfirmingLevel {
    /// The level that confirms; `nil` where none can.
    var confirming: (any ConfirmingLevel<Key, Value>)? { get }
}

extension ConfirmationRelay {
    package var confirmation: ConfirmationPlace<Key, Value>? { confirming?.confirmation }

    package func readyToConfirm(within limit: Duration) async throws {
        try await confirming?.readyToConfirm(within: limit)
    }

    package func confirm(_ held: [HeldEntry<Key>]) async throws -> [EntryConfirmation] {
        try await confirming?.confirm(held) ?? held.map { _ in .unknown }
    }
}

/// By what the entries of a level are known outside this process.
package struct ConfirmationPlace<Key: Sendable, Value: Sendable>: Sendable {
    /// What no other level has.
    package let name: [UInt8]
    /// How values become bytes.
    package let codec: Codec<Value>
    /// The place of a key's value, to which protections are bound.
    package let place: @Sendable (Key) -> [UInt8]

    package init(name: [UInt8], codec: Codec<Value>, place: @escaping @Sendable (Key) -> [UInt8]) {
        self.name = name
        self.codec = codec
        self.place = place
    }
}

/// An entry that an earlier process held, without its value.
package struct HeldEntry<Key: Sendable>: Sendable {
    package let key: Key
    /// The write that it comes from.
    package let version: EntryVersion
    package let isAbsence: Bool
    package let tags: [String]

    package init(_ key: Key, version: EntryVersion, isAbsence: Bool, tags: [String]) {
        self.key = key
        self.version = version
        self.isAbsence = isAbsence
        self.tags = tags
    }
}

/// What has become of an entry that an earlier process held.
package enum EntryConfirmation: Sendable {
    /// The level holds it: with this lifetime, and all else but its value.
    case holds(Entry<Never>)
    /// The level holds another one, or none.
    case changed
    /// A tag, a clear, or a removal that is to be repeated has voided it.
    case void
    /// Its time is over.
    case expired
    /// That could not be told.
    case unknown
}

extension Duration {
    /// How long a start waits for the level that all instances share: memory that begins cold is no fault, and a start that
    /// hangs is one.
    package static let longestStartWait = Duration.seconds(5)
}
