/// A number of a keyspace's sequence of invalidations.
///
/// Zero stands before all of them.
typealias InvalidationNumber = UInt64

/// The two numbers that stand for a whole keyspace.
struct TagMarks: Sendable, Hashable {
    /// The last number that was given out.
    var sequence: InvalidationNumber
    /// The number of the last clear, or of the moment at which the keyspace's memory of invalidations began.
    var clear: InvalidationNumber

    /// Marks that were asked for beside a read.
    struct Asked: Sendable, Hashable {
        var marks: TagMarks
        /// How often tags had been invalidated in this process before.
        var tagChanges: UInt64
    }

    /// For how much longer than any entry of the keyspace the marks are kept when nobody uses it.
    ///
    /// The time that is left is renewed when a day of it is gone; and an entry's fetch may have taken a while.
    static let reserve: Duration = .seconds(2 * 86_400)
    /// For how long they are kept at the least: an entry with tags lives for 30 days at most.
    static let shortestMemory: Duration = .seconds(30 * 86_400) + reserve

    /// Numbers beyond this are nobody's: microseconds since 1970 reach it in the year 2223, and a double holds them all.
    static let highestNumber: InvalidationNumber = 8_000_000_000_000_000

    /// A number as the server has it; `nil` when it is none.
    static func number(_ text: some Collection<UInt8>) -> InvalidationNumber? {
        guard (1...16).contains(text.count), text.first != UInt8(ascii: "-") else { return nil }
        return ServerNumber.decimal(text, in: 0...Int64(highestNumber)).map { InvalidationNumber($0) }
    }
}
