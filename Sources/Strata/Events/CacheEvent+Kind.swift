extension CacheEvent {
    /// A kind of event.
    ///
    /// More may be added.
    public struct Kind: Sendable, Hashable, CustomStringConvertible, CaseIterable {
        @usableFromInline let number: UInt8

        @inlinable
        init(number: UInt8) {
            self.number = number
        }

        /// A level had a value that was served, possibly a stale one.
        @inlinable public static var hit: Kind { Kind(number: 0) }
        /// A level had none to serve, or could not be asked for it or for the lease to fetch it; ``CacheEvent/reason``
        /// or ``CacheEvent/error`` says why.
        @inlinable public static var miss: Kind { Kind(number: 1) }
        /// The source is asked.
        @inlinable public static var fetchBegan: Kind { Kind(number: 2) }
        /// The source has answered, or failed; ``CacheEvent/duration`` and ``CacheEvent/error`` say how.
        @inlinable public static var fetchEnded: Kind { Kind(number: 3) }
        /// A level was not filled with a value that was read or fetched; ``CacheEvent/reason`` says why.
        @inlinable public static var storeRefused: Kind { Kind(number: 4) }
        /// An entry has left memory for want of room or time; ``CacheEvent/reason`` says which.
        @inlinable public static var evicted: Kind { Kind(number: 5) }
        /// This process has removed a key, invalidated tags or cleared a cache, for all instances.
        @inlinable public static var invalidationSent: Kind { Kind(number: 6) }
        /// Redis has reported a change of a key, of tags or of everything, made elsewhere; removals and invalidations
        /// of this process come back, too.
        @inlinable public static var invalidationHeard: Kind { Kind(number: 7) }
        /// The cache hears of changes made elsewhere.
        @inlinable public static var linkEstablished: Kind { Kind(number: 8) }
        /// The cache does not hear of changes made elsewhere; memory keeps what is read for a few seconds only.
        @inlinable public static var linkLost: Kind { Kind(number: 9) }
        /// Redis has failed too often, and is not asked for the time being; ``CacheEvent/detail`` says for which calls.
        @inlinable public static var circuitOpened: Kind { Kind(number: 10) }
        /// Redis is asked again.
        @inlinable public static var circuitClosed: Kind { Kind(number: 11) }

        private static let names = [
            "hit", "miss", "fetch began", "fetch ended", "store refused", "evicted", "invalidation sent",
            "invalidation heard",
            "link established", "link lost", "circuit opened", "circuit closed",
        ]

        /// All kinds.
        public static var allCases: [Kind] { names.indices.map { Kind(number: UInt8($0)) } }

        /// The name of the kind.
        public var description: String { Self.names[Int(number)] }

        /// The kind's place in a set of them.
        @inlinable var bit: UInt32 { 1 << UInt32(number) }
    }
}

extension Set<CacheEvent.Kind> {
    /// Every kind but hits, of which there may be millions a second.
    public static var allButHits: Self { Set(CacheEvent.Kind.allCases).subtracting([.hit]) }
    /// Every kind.
    public static var all: Self { Set(CacheEvent.Kind.allCases) }
}
