/// One thing that happened: an operation with its start and end on ``HistoryClock``.
package struct HistoryEvent: Sendable, Hashable {
    /// What kind of operation it was.
    package enum Kind: UInt8, Sendable, CaseIterable {
        case get = 1
        case write
        case invalidateKey
        case invalidateTag
        case invalidateAll
        case fetch
        /// The life of an instance, from its start to its stop.
        case instance
        /// A fault that was caused on purpose, from its beginning to its end.
        case fault
        /// A version put into the cache: speaks for that version alone.
        case set
    }

    /// How it ended.
    package enum Outcome: UInt8, Sendable, CaseIterable {
        /// Not ended: still under way, or its process died in it.
        case open = 0
        /// With the value of `version`.
        case value
        /// The answer was that the source has no value: version 0.
        case absent
        /// A level that cannot fetch did not have it. Says nothing.
        case miss
        case failed
        /// With a genuine value of another key, whose number stands in the upper half of `version`.
        case stranger
        /// With a value that the run's source cannot have made.
        case forged
        /// Without a value: what an invalidation should do.
        case done
    }

    package var kind: Kind
    package var outcome: Outcome
    package var level: ReadLevel
    package var marks: ReadMarks
    /// In a file the instance's own number; in a ``History`` one that no other instance of the fleet has.
    package var instance: UInt32
    /// The key; the tag of a tag invalidation; 1 for a fault of its instance alone; or 0.
    package var key: UInt32
    package var start: UInt64
    /// 0 while ``Outcome/open``.
    package var end: UInt64
    /// The version seen, written, fetched or (by an invalidation) known before it began; 0 is none.
    package var version: UInt64

    package init(
        _ kind: Kind,
        _ outcome: Outcome,
        instance: UInt32,
        key: UInt32 = 0,
        start: UInt64,
        end: UInt64,
        version: UInt64 = 0,
        level: ReadLevel = .unknown,
        marks: ReadMarks = []
    ) {
        self.kind = kind
        self.outcome = outcome
        self.level = level
        self.marks = marks
        self.instance = instance
        self.key = key
        self.start = start
        self.end = end
        self.version = version
    }

    /// Whether it is of one instance: a fault may be everybody's.
    package var isOfInstance: Bool { kind != .fault || key == 1 }
    /// Whether it came to its end.
    var hasEnded: Bool { end != 0 }
}
