/// A number of a keyspace's sequence of invalidations.
///
/// Zero stands before all of them.
typealias InvalidationNumber = UInt64

/// The two numbers that stand for a whole keyspace.
struct TagMarks: Sendable, Hashable {
    /// The last number that was given out.
    var sequence: InvalidationNumber
    /// The number of the last clear, or of the moment when the hash began.
    var clear: InvalidationNumber

    /// Marks that were read beside an entry.
    struct Asked: Sendable, Hashable {
        var marks: TagMarks
        /// The count of this process's invalidations before the read.
        var tagChanges: UInt64
    }

    /// How much longer than any entry the marks of an unused keyspace are kept.
    ///
    /// Their time to live is renewed after a day; and a fetch may take a while.
    static let reserve: Duration = .seconds(2 * 86_400)
    /// The shortest time for which they are kept: an entry with tags lives for 30 days at most.
    static let shortestMemory: Duration = .seconds(30 * 86_400) + reserve

    /// The highest possible number: microseconds since 1970 reach it in the year 2223, and a double holds every number
    /// below.
    static let highestNumber: InvalidationNumber = 8_000_000_000_000_000

    /// A number in the server's form; `nil` for other text.
    static func number(_ text: some Collection<UInt8>) -> InvalidationNumber? {
        guard (1...16).contains(text.count), text.first != UInt8(ascii: "-") else { return nil }
        return ServerNumber.decimal(text, in: 0...Int64(highestNumber)).map { InvalidationNumber($0) }
    }
}
