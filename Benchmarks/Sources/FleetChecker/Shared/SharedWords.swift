import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A run of 64-bit words in memory that several processes may map, every one of them touched only atomically.
///
/// Atomic instructions work on the physical line, so they hold between processes as they do between threads. What has
/// been stored survives the sudden death of the process that stored it; only a crash of the machine loses it.
///
/// Proof of `Sendable`: `base` and `count` are set once in `init`, the words behind `base` are only reached through the
/// atomic operations below, and the mapping is removed in `deinit`, when no reference is left.
@safe
final class SharedWords: @unchecked Sendable {
    private let base: UnsafeMutablePointer<Atomic<UInt64>>
    let count: Int

    /// Maps the first words of a file.
    ///
    /// - Parameters:
    ///   - count: The number of words, more than 0.
    ///   - file: The file, already large enough.
    /// - Throws: `fileUnavailable`.
    init(count: Int, file: borrowing SharedFile) throws(CheckerError) {
        self.count = count
        unsafe self.base = try file.map(offset: 0, bytes: count * 8)
    }

    /// Takes fresh memory, all zero.
    init(zeroed count: Int) throws(CheckerError) {
        self.count = count
        let mapped = unsafe mmap(nil, count * 8, PROT_READ | PROT_WRITE, MAP_SHARED | SharedFile.anonymous, -1, 0)
        unsafe self.base = try SharedFile.words(mapped, "fresh memory")
    }

    deinit {
        unsafe SharedFile.unmap(base, bytes: count * 8)
    }

    func load(_ index: Int) -> UInt64 {
        unsafe word(index).pointee.load(ordering: .acquiring)
    }

    func store(_ value: UInt64, at index: Int) {
        unsafe word(index).pointee.store(value, ordering: .releasing)
    }

    /// Adds to a word and gives back what it held before.
    func add(_ value: UInt64, at index: Int) -> UInt64 {
        unsafe word(index).pointee.wrappingAdd(value, ordering: .relaxed).oldValue
    }

    /// Replaces a word if it still holds what is expected; gives back what it held.
    func exchange(_ expected: UInt64, for value: UInt64, at index: Int) -> (exchanged: Bool, original: UInt64) {
        unsafe word(index).pointee
            .compareExchange(
                expected: expected,
                desired: value,
                ordering: .acquiringAndReleasing
            )
    }

    private func word(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        precondition(index >= 0 && index < count, "word \(index) of \(count)")
        return unsafe base + index
    }
}
