internal import Strata

/// The numbers of the tags that an instance knows, in bounded memory.
///
/// Numbers are kept in two generations. When the young one is full it becomes the old one, and what was old is
/// forgotten, so that a large working set is never forgotten at once. A tag is kept as 128 bits of hashes, half of them
/// keyed at random in each process: 24 bytes a tag, whatever its length, in tables that grow by doubling and are three
/// quarters full at most.
struct TagNumbers: Sendable {
    /// How many tags a generation has.
    static let generation = 1 << 19
    /// How many it has where a keyspace has several parts: each part has a table, and each is told of every tag.
    static let generationOfPart = 1 << 16

    private struct Tag: Hashable, Sendable {
        let keyed: Int
        let plain: UInt64

        init(_ name: TagName) {
            keyed = name.hashValue
            plain = name.fingerprint()
        }
    }

    private let generation: Int
    private var young: [Tag: InvalidationNumber] = [:]
    private var old: [Tag: InvalidationNumber] = [:]
    private var highestOfYoung: InvalidationNumber = 0
    private var highestOfOld: InvalidationNumber = 0

    init(generation: Int = Self.generation) {
        self.generation = generation
    }

    var count: Int { young.count + old.count }

    /// The number of a tag; `nil` when it is not known.
    subscript(name: TagName) -> InvalidationNumber? {
        let tag = Tag(name)
        return young[tag] ?? old[tag]
    }

    /// Notes that a tag has at least a number.
    ///
    /// - Returns: The highest number of the tags that were forgotten to make room; `nil` when none was.
    mutating func note(_ number: InvalidationNumber, for name: TagName) -> InvalidationNumber? {
        let tag = Tag(name)
        if let known = young[tag] {
            if number > known { insert(number, tag) }
            return nil
        }
        // What has become old is young again by a step, so that the old stay those with low numbers.
        let known = old[tag]
        if let known, number <= known { return nil }
        let forgotten = young.count < generation ? nil : forget()
        if known != nil { old[tag] = nil }
        insert(number, tag)
        return forgotten
    }

    mutating func removeAll() { self = TagNumbers(generation: generation) }

    private mutating func insert(_ number: InvalidationNumber, _ tag: Tag) {
        young[tag] = number
        highestOfYoung = max(highestOfYoung, number)
    }

    private mutating func forget() -> InvalidationNumber? {
        defer {
            old = young
            young = [:]
            (highestOfOld, highestOfYoung) = (highestOfYoung, 0)
        }
        return old.isEmpty ? nil : highestOfOld
    }
}
