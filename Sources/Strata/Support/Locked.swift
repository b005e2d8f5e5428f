#if canImport(Darwin)
public import Darwin
#elseif canImport(Musl)
public import Musl
#else
public import Glibc
#endif

/// A value that only one thread at a time can touch.
///
/// The one lock of the library. It uses `pthread_mutex_t` and not the standard library's `Mutex`, which on Linux is
/// handed over through the kernel as soon as two threads want it (swiftlang/swift#88440), and whose hand-over
/// ThreadSanitizer does not see.
///
/// Proof of `Sendable`: the two pointers are set once, what they point to is reached under the lock only and freed with
/// the value, which cannot be copied.
@safe
@frozen
@usableFromInline
package struct Locked<State: Sendable & ~Copyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline
    let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline
    let state: UnsafeMutablePointer<State>

    /// A value behind a lock of its own.
    @inlinable
    package init(_ initial: consuming sending State) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: initial)
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the value to itself.
    ///
    /// `body` must not take long, suspend, or call out.
    @inlinable
    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&state.pointee)
    }

    /// Runs `body` as ``withLock(_:)`` does, or returns `nil` at once while another thread has the value.
    @inlinable
    package borrowing func withLockIfFree<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&state.pointee)
    }

    /// Takes the lock and returns the value, for a caller that moves something into it: a closure can only copy.
    ///
    /// The same thread must call ``unlock()``.
    @inlinable
    @unsafe
    package borrowing func lock() -> UnsafeMutablePointer<State> {
        unsafe pthread_mutex_lock(mutex)
        return unsafe state
    }

    /// Gives back what ``lock()`` has taken.
    @inlinable
    package borrowing func unlock() {
        unsafe pthread_mutex_unlock(mutex)
    }
}
