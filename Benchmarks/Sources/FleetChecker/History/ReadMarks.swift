/// What the cache said about a value when it handed it out.
public struct ReadMarks: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes marks from their bits.
    ///
    /// - Parameter rawValue: The bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The value was handed out as stale: the reader knows that there may be a newer one.
    public static let stale = ReadMarks(rawValue: 1)
    /// The value was handed out as suspect: the cache could not hear of changes at the time.
    public static let suspect = ReadMarks(rawValue: 2)
    /// The value was read together with others, by one call: how long that took says nothing about this one.
    public static let together = ReadMarks(rawValue: 4)
}
