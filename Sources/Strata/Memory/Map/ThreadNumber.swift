internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Numbers for threads, from 1, in the order in which they first ask.
///
/// A thread's number stands in its own storage for `key`, where it is read without a call into this module.
@usableFromInline
enum ThreadNumber {
    /// Made once for the process, and never given back.
    static let key: pthread_key_t = {
        var key = pthread_key_t()
        let failure = unsafe pthread_key_create(&key, nil)
        precondition(failure == 0, "the process has no thread-specific storage left")
        return key
    }()

    private static let last = Atomic<Int>(0)

    /// Gives the thread a number.
    @usableFromInline
    @inline(never)
    static func assign() -> Int {
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
        return number
    }
}
