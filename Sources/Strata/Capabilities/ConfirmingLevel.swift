/// A level that other processes share, and that can tell without moving the value whether it still holds an entry that
/// an earlier process kept.
///
/// A level around another one passes the calls on; a level that cannot confirm returns `nil` from ``confirmation``.
package protocol ConfirmingLevel<Key, Value>: CacheLevel {
    // Declared again, so that the protocol can name them.
    associatedtype Key
    associatedtype Value

    /// How entries of this level are identified outside this process; `nil` where no level here can confirm.
    var confirmation: ConfirmationPlace<Key, Value>? { get }

    /// Waits until the level hears of changes made elsewhere, for at most `limit`.
    ///
    /// - Throws: What keeps the level from being asked; `CancellationError`.
    func readyToConfirm(within limit: Duration) async throws

    /// What happened to entries since, in their order; one call asks for all of them.
    ///
    /// A confirmed entry bears a ticket that was taken before the level was asked, and a seal, like an entry that was
    /// read.
    ///
    /// - Throws: What keeps the level from being asked; `CancellationError`.
    func confirm(_ held: [HeldEntry<Key>]) async throws -> [EntryConfirmation]
}

/// A level around others, one of which may be able to confirm: that one answers all questions.
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

/// How the entries of a level are identified outside this process.
package struct ConfirmationPlace<Key: Sendable, Value: Sendable>: Sendable {
    /// A name that no other level has.
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

/// What happened to an entry that an earlier process held.
package enum EntryConfirmation: Sendable {
    /// The level holds it: with this lifetime, and everything but its value.
    case holds(Entry<Never>)
    /// The level holds another one, or none.
    case changed
    /// A tag, a clear, or a removal that has to be repeated has voided it.
    case void
    /// Its time is over.
    case expired
    /// The level could not tell.
    case unknown
}

extension Duration {
    /// How long a start waits for the level that all instances share: a cold start of memory is no fault, but a start
    /// that hangs is one.
    package static let longestStartWait = Duration.seconds(5)
}
