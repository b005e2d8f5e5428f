/// What a read gave, with what its trace said.
public struct Reading: Sendable, Hashable {
    /// The value; nil if the cache said that the source has none.
    public var value: VersionedValue?
    /// Where it came from.
    public var level: ReadLevel
    /// What the cache said about it.
    public var marks: ReadMarks

    /// Describes a read.
    ///
    /// - Parameters:
    ///   - value: The value; nil if the cache said that the source has none.
    ///   - level: Where it came from.
    ///   - marks: What the cache said about it.
    public init(_ value: VersionedValue?, from level: ReadLevel = .unknown, marks: ReadMarks = []) {
        self.value = value
        self.level = level
        self.marks = marks
    }
}
