internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Numbers for threads, from 1: each that asks gets the lowest that no living thread has.
///
/// A thread's number stands in its own storage for `key`, where it is read without a call into this module. It is given
/// back when the thread ends, so that numbers stay as low as threads are few, however many come and go.
@usableFromInline
enum ThreadNumber {
    /// Made once for the process, and never given back.
    static let key: pthread_key_t = {
        var key = pthread_key_t()
        let failure = unsafe pthread_key_create(&key) { number in
            #if canImport(Darwin)
            ThreadNumber.release(Int(bitPattern: number))
            #else
            if let number = unsafe number { ThreadNumber.release(Int(bitPattern: number)) }
            #endif
        }
        precondition(failure == 0, "the process has no thread-specific storage left")
        return key
    }()

    /// The highest number that any thread ever had.
    ///
    /// In memory of its own that is never freed, so that it can be read from inlined code without asking whether it
    /// exists.
    nonisolated(unsafe) static let highest: UnsafeMutablePointer<Atomic<Int>> = {
        let highest = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: 1)
        unsafe highest.initialize(to: Atomic(0))
        return unsafe highest
    }()

    private static let free = Locked([Int]())

    /// Gives the thread a number.
    @usableFromInline
    @inline(never)
    static func assign() -> Int {
        let number = free.withLock { free in
            if let lowest = free.indices.min(by: { free[$0] < free[$1] }) { return free.remove(at: lowest) }
            // Raised before the thread announces itself anywhere: a writer that has not seen it is seen by the thread.
            return unsafe highest.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
        }
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
        return number
    }

    private static func release(_ number: Int) {
        free.withLock { $0.append(number) }
    }
}
