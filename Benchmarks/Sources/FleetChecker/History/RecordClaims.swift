import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Hands out the places of records: in blocks of 64, each of which belongs to one of 16 stripes.
///
/// A thread always takes from the same stripe, so that threads rarely add to the same word or fill the same cache line:
/// of two busy threads each took 165 ns for a read with its two times, and 275 ns with one counter for all. The
/// counters lie in the file's header, where a reader sees how far each stripe's last block was filled.
struct RecordClaims: ~Copyable {
    static let blockRecords: UInt64 = 64

    // A stripe's word: its block above, the records taken of it in the low 16 bits. Threads that find the block used up
    // have added to that count all the same, hence the room.
    private static let takenBits: UInt64 = 16
    private static let takenMask: UInt64 = 1 << 16 - 1
    private static let stripeBits: UInt64 = 4

    private let header: SharedWords
    private let renewal = Mutex(())

    init(_ header: SharedWords) {
        self.header = header
        for stripe in 0..<(1 << Self.stripeBits) {
            header.store(Self.blockRecords, at: Self.word(of: stripe))
        }
    }

    /// The next free place.
    func next() -> UInt64 {
        let word = Self.word(of: Self.stripe())
        while true {
            let claim = header.add(1, at: word)
            let taken = claim & Self.takenMask
            if taken < Self.blockRecords { return claim >> Self.takenBits * Self.blockRecords + taken }
            renewal.withLock { _ in
                // Another thread of the stripe may have been here first.
                guard header.load(word) & Self.takenMask >= Self.blockRecords else { return }
                header.store(header.add(1, at: HistoryHeader.blocksWord) << Self.takenBits, at: word)
            }
        }
    }

    /// How many records are taken of each block that is not full, by block.
    static func openBlocks(_ header: [UInt64]) -> [UInt64: UInt64] {
        var open: [UInt64: UInt64] = [:]
        for stripe in 0..<(1 << stripeBits) {
            let claim = header[word(of: stripe)]
            let taken = claim & takenMask
            if taken < blockRecords { open[claim >> takenBits] = taken }
        }
        return open
    }

    private static func word(of stripe: Int) -> Int {
        HistoryHeader.stripesWord + stripe * 16
    }

    /// Stacks of threads lie far apart at round distances, so the address is mixed (Fibonacci hashing).
    private static func stripe() -> Int {
        #if canImport(Darwin)
        let thread = unsafe UInt64(UInt(bitPattern: pthread_self()))
        #else
        let thread = UInt64(pthread_self())
        #endif
        return Int((thread &* 0x9E37_79B9_7F4A_7C15) >> (64 - stripeBits))
    }
}
